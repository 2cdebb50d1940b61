"""python3 -m durfmt [--clock] [--sum] DURATION..."""

import sys

from durfmt import show
from durfmt.parse import BadDuration, parse


def main(arguments):
    style = show.long
    total = False
    while arguments and arguments[0].startswith("--"):
        flag = arguments.pop(0)
        if flag == "--clock":
            style = show.clock
        elif flag == "--sum":
            total = True
    try:
        values = [parse(text) for text in arguments]
    except BadDuration as error:
        print(f"bad duration: {error}")
        return 1
    if total:
        values = [sum(values)]
    for value in values:
        print(style(value))
    return 0


if __name__ == "__main__":
    main(sys.argv[1:])
