"""Dockerfiles that are almost right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fuzz.inputs import either, text

if TYPE_CHECKING:
    from random import Random

DOCKERFILE = b"""# syntax=docker/dockerfile:1
ARG VERSION=12
FROM --platform=linux/amd64 debian:${VERSION} AS base
ENV A=1 B="two words" \\
    C=${A:-x}
ENV OLD form of it
WORKDIR /app
COPY --chown=1:1 --chmod=0644 data/*.txt "some file" /app/
COPY data /app/data
ADD packed.tar /opt
COPY <<EOF <<-'END' /etc/
hello $A
EOF
	tabbed
	END
SHELL ["/bin/bash", "-c"]
RUN apt-get update && \\
    # a comment

    apt-get install -y jq
RUN <<EOF
set -e
echo "$C"
EOF
RUN ["true", "x"]
USER 1000
VOLUME /data /more
EXPOSE 80
HEALTHCHECK CMD true
CMD ["sleep", "1"]
"""
_INSTRUCTIONS = [
    "FROM",
    "ARG",
    "ENV",
    "RUN",
    "COPY",
    "ADD",
    "WORKDIR",
    "USER",
    "VOLUME",
    "SHELL",
    "CMD",
    "ENTRYPOINT",
    "LABEL",
    "EXPOSE",
    "ONBUILD",
    "HEALTHCHECK",
    "STOPSIGNAL",
    "MAINTAINER",
    "from",
    "Run",
    "COMMENT",
    "NONSENSE",
]
_WORDS = (
    "debian:12",
    "AS",
    "scratch",
    "${A}",
    "${A:-b}",
    "${A:+${B}}",
    "${",
    "$",
    "A=1",
    "A=",
    "=",
    '"two words"',
    "'",
    '"',
    "\\",
    "\\\\",
    "data",
    "data/*.txt",
    "*",
    "**",
    "**/*",
    "[z-a]",
    "[a",
    "[[:x:]]",
    "[a\\]",
    "[^]",
    "/app/",
    ".",
    "../x",
    "/",
    "packed.tar",
    "loop",
    "<<EOF",
    "<<-'EOF'",
    '<<"E.F"',
    "0<<A",
    "--chown=1:1",
    "--chmod=9",
    "--chmod=0644",
    "--from=base",
    "--mount=type=cache",
    "--network=none",
    "--link",
    '["a", "b"]',
    '["a", 1]',
    "[" * 3000,
    "*a" * 40 + "b",
    "**/" * 40 + "b",
    "${A:-" * 200,
    "a" * 3000,
    "https://example.org/x",
)


def dockerfile(random: Random) -> bytes:
    """Instructions in any order, of words that Docker's grammar has and of words that it has not."""
    return either(random, DOCKERFILE, _dockerfile)


def _dockerfile(random: Random) -> str:
    lines = ["FROM debian:12"] if random.random() < 0.8 else []
    if random.random() < 0.1:
        lines.insert(0, random.choice(("# escape=`", "# syntax=x", "#escape=\\", "# escape=", "\ufeff")))
    for _ in range(random.randint(0, 8)):
        name = random.choice(_INSTRUCTIONS)
        words = [random.choice(_WORDS) if random.random() < 0.85 else text(random) for _ in range(random.randint(0, 4))]
        lines.append(f"{name} {' '.join(words)}")
        if any(word.lstrip("0").startswith("<<") for word in words) and random.random() < 0.8:
            lines += ["some text $A", random.choice(("EOF", "\tEOF", "E.F", "A"))]
        if random.random() < 0.1:
            lines[-1] += " \\"
    return random.choice(("\n", "\n", "\n", "\r\n", "\r")).join(lines)
