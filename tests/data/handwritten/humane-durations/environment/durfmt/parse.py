"""Text to seconds."""

UNITS = {"w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1}


class BadDuration(ValueError):
    """The text is no duration."""


def parse(text):
    text = text.strip()
    if not text:
        raise BadDuration(text)
    if ":" in text:
        return _clock(text)
    total, number = 0, ""
    for char in text:
        if char.isdigit():
            number += char
        elif char in UNITS:
            total += int(number or 1) * UNITS[char]
            number = ""
        elif char == " ":
            continue
        else:
            raise BadDuration(text)
    if number:
        total += int(number)
    return total


def _clock(text):
    fields = text.split(":")
    if len(fields) > 3:
        raise BadDuration(text)
    total = 0
    for field in fields:
        if not field.isdigit():
            raise BadDuration(text)
        total = total * 60 + int(field)
    return total
