"""What a back end over Harbor's environments runs in them: POSIX shell, arguments as positional parameters."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KIND: Final = """\
if [ -L "$1" ]; then echo link 0
elif [ -d "$1" ]; then echo folder $(( $(du -sk -- "$1" 2>/dev/null | cut -f1) * 1024 ))
elif [ -f "$1" ]; then echo file $(wc -c < "$1")
elif [ -e "$1" ]; then echo other 0
else echo none 0; fi
"""
FOLDER: Final = """[ -d "$1" ] && [ ! -L "$1" ] || rm -rf -- "$1"; mkdir -p -- "$1" """
PLACE: Final = """mkdir -p -- "$(dirname -- "$1")"; if [ -L "$1" ] || [ -e "$1" ]; then rm -rf -- "$1"; fi"""
MODE: Final = """chmod -- "$1" "$2" """
READLINK: Final = """readlink -- "$1" """
REMAKE: Final = """rm -rf -- "$1" && mkdir -p -- "$1" && chmod -- "$2" "$1" """
REMOVE: Final = """rm -rf -- "$1" """
PACK: Final = """\
archive=$1; shift; cd /
for path do
  shift
  if [ -L "$path" ] || [ -e "$path" ]; then set -- "$@" ".$path"; fi
done
if [ $# = 0 ]; then : | tar -cf "$archive" -T -
else tar -cf "$archive" --numeric-owner --transform 's,^\\./,,' -- "$@"; fi
"""
UNPACK: Final = """tar -xpf "$1" --numeric-owner --no-overwrite-dir -C / """

# A process is told from a later one of the same number by when it started, the 22nd field of its stat.
LIST: Final = """\
for folder in /proc/[0-9]*; do
  pid=${folder#/proc/}
  [ "$pid" = $$ ] && continue
  stat=$(cat "$folder/stat" 2>/dev/null) || continue
  set -- ${stat##*)}
  printf '%s:%s ' "$pid" "${20}"
done
"""
KILL: Final = """\
spared=" $1 "; killed=0; round=0
own=" $$ "; parent=$$
while [ "$parent" -gt 1 ] 2>/dev/null; do
  stat=$(cat "/proc/$parent/stat" 2>/dev/null) || break
  set -- ${stat##*)}
  parent=$2; own="$own$parent "
done
while [ $round -lt 20 ]; do
  found=0
  for folder in /proc/[0-9]*; do
    pid=${folder#/proc/}
    case "$own" in *" $pid "*) continue;; esac
    [ "$pid" = 1 ] && continue
    stat=$(cat "$folder/stat" 2>/dev/null) || continue
    set -- ${stat##*)}
    [ "$1" = Z ] && continue
    [ "$2" = $$ ] && continue
    case "$spared" in *" $pid:${20} "*) continue;; esac
    kill -9 "$pid" 2>/dev/null && found=$((found + 1))
  done
  [ $found = 0 ] && break
  killed=$((killed + found)); round=$((round + 1))
done
echo $killed
"""
KILL_MARKED: Final = """\
round=0
while [ $round -lt 20 ]; do
  found=0
  for folder in /proc/[0-9]*; do
    [ "${folder#/proc/}" = $$ ] && continue
    if tr '\\0' '\\n' < "$folder/environ" 2>/dev/null | grep -qx "ENVOLVE_MARK=$1"; then
      kill -9 "${folder#/proc/}" 2>/dev/null && found=1
    fi
  done
  [ $found = 0 ] && break
  round=$((round + 1))
done
"""


def command(what: str | Sequence[str], *, cwd: str, env: Mapping[str, str], clean: bool, stdin: str) -> str:
    """One line for an environment's shell that runs a command where, and with what, it is to run.

    Args:
        what: A shell command or an argument vector.
        cwd: Its working directory, made when missing.
        env: Its variables.
        clean: Whether it sees no others but HOME.
        stdin: The file it reads.
    """
    words = ["bash", "-c", what] if isinstance(what, str) else list(what)
    settings = [f"{name}={value}" for name, value in env.items()]
    with_env = 'env -i HOME="$HOME"' if clean else "env"
    inside = f"{with_env} {shlex.join([*settings, *words])} < {shlex.quote(stdin)}"
    folder = shlex.quote(cwd)
    return f"mkdir -p -- {folder} 2>/dev/null; cd -- {folder} && exec {inside}"
