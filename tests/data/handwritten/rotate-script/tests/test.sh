#!/bin/bash
# Plays the script through a number of directories of our own. All or nothing.
export LC_ALL=C
mkdir -p /logs/verifier
echo 0 > /logs/verifier/reward.txt

script=/opt/rotate/rotate.sh
work=$(mktemp -d)
bad=0

fail() { echo "FAIL: $*"; bad=1; }

fresh() {  # a directory with a bit of everything
    rm -rf "$work/set"
    mkdir -p "$work/set/sub-20250101.tar"
    (
        cd "$work/set" || exit
        for d in 20250101 20250102 20250115 20250131 20250201 20250214 20250228 20250301 20250302 20250305 20250306; do
            echo "$d" > "web-$d.tar"
        done
        for d in 20241231 20250103 20250104 20250105 20250310; do echo x > "db-main-$d.tar"; done
        echo x > "db-20241130.tar"; echo x > "db-20241129.tar"
        echo x > "old box-20230505.tar"; echo x > "old box-20230506.tar"; echo x > "old box-20230507.tar"
        echo x > "web-20250230.tar"; echo x > "web-2025010.tar"; echo x > "web-20250103.tar.gz"; echo x > "-20250103.tar"
        echo x > "web20250103.tar"; echo x > notes.txt; echo x > "*-20250104.tar"; echo x > "-n-20250104.tar"
        ln -s notes.txt web-20250104.tar
        ln -s /nowhere web-20250105.tar
    )
}

# play EXPECTED-STATUS EXPECTED-OUTPUT deletes|keeps ARGUMENTS...
play() {
    local status=$1 output=$2 deletes=$3 found code
    shift 3
    fresh
    (cd "$work/set" && ls -A1) > "$work/before"
    found=$(cd "$work" && timeout 20 "$script" "$@" 2> /dev/null; echo "status $?")
    [ "$found" = "$(printf '%s%s' "${output:+$output$'\n'}" "status $status")" ] || fail "$*: said: $found"
    if [ "$deletes" = deletes ]; then
        grep -vxF -e "$output" "$work/before" > "$work/after"
    else
        cp "$work/before" "$work/after"
    fi
    (cd "$work/set" && ls -A1) | diff "$work/after" - || fail "$*: the wrong files are left"
}

five='web-20250102.tar
web-20250115.tar
web-20250131.tar'
none='db-main-20250104.tar
db-main-20250105.tar
old box-20230506.tar
web-20250102.tar
web-20250115.tar
web-20250131.tar
web-20250214.tar
web-20250228.tar
web-20250302.tar
web-20250305.tar'
two='web-20250102.tar
web-20250115.tar
web-20250131.tar
web-20250214.tar
web-20250228.tar
web-20250302.tar'
early='old box-20230506.tar'

# with the default of 5 "old box" has three snapshots before today only: nothing of it goes
play 0 "$five" deletes set 2025-03-06
play 0 "$five" keeps -n set 2025-03-06
play 0 "$none" deletes -k 0 set 2025-03-07
play 0 "$two" deletes -k 2 "$work/set/" 2025-03-07
play 0 "$two" keeps -k 2 -n set 2025-03-07
play 0 "$early" deletes -k 1 set 2024-12-01
play 0 "$early" deletes -k 0 set 2023-06-01
play 0 "" deletes -k 0 set 2023-05-01
play 0 "" keeps -k 99 set 2030-01-01
play 2 "" keeps -k x set 2025-03-06
play 2 "" keeps -k -1 set 2025-03-06
play 2 "" keeps set 2025-02-30
play 2 "" keeps set 06.03.2025
play 2 "" keeps set/notes.txt 2025-03-06
play 2 "" keeps gone 2025-03-06

# no date given: today is today
rm -rf "$work/now"; mkdir "$work/now"
for d in 20010101 20010102 20010103 99991231; do : > "$work/now/h-$d.tar"; done
[ "$("$script" -k 1 "$work/now")" = h-20010102.tar ] || fail "default day"
# an empty directory
mkdir "$work/empty"
[ -z "$("$script" "$work/empty" 2025-01-01)" ] || fail "empty directory"
"$script" "$work/empty" 2025-01-01 > /dev/null 2>&1 || fail "status for an empty directory"

[ $bad = 0 ] && echo 1 > /logs/verifier/reward.txt
rm -rf "$work"
exit 0
