#!/bin/bash
set -euo pipefail
mkdir -p /app/decoded
python3 - <<'PYTHON'
import datetime
import json
import struct

data = open("/app/flight.rec", "rb").read()


def fletcher(part):
    a = b = 0
    for byte in part:
        a = (a + byte) % 255
        b = (b + a) % 255
    return b * 256 + a


def record(at):
    """Type, payload and end of the record that starts at a position, or None."""
    if data[at] != 0xA5:
        return None
    length, shift, i = 0, 0, at + 2
    while True:
        if i >= len(data) or shift > 14:
            return None
        length |= (data[i] & 127) << shift
        shift += 7
        i += 1
        if not data[i - 1] & 128:
            break
    end = i + length + 2
    if end > len(data) or fletcher(data[at + 1 : end - 2]) != int.from_bytes(data[end - 2 : end], "little"):
        return None
    return data[at + 1], data[i : end - 2], end


def degrees(value):
    sign, value = "-" if value < 0 else "", abs(value)
    return f"{sign}{value // 10**7}.{value % 10**7:07d}"


def moment(seconds, ms=None):
    when = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds, milliseconds=ms or 0)
    return when.isoformat(timespec="milliseconds" if ms is not None else "seconds") + "Z"


at, clock, records, unknown, skipped, messages, track = 5, None, 0, 0, 0, [], []
while at < len(data):
    found = record(at)
    if not found:
        at += 1
        skipped += 1
        continue
    kind, payload, at = found
    records += 1
    if kind == 1 and len(payload) == 4:
        clock = int.from_bytes(payload, "little")
    elif kind == 2 and len(payload) == 12 and clock is not None:
        ms, lat, lon, alt = struct.unpack("<Hiih", payload)
        track.append(f"{moment(clock, ms)},{degrees(lat)},{degrees(lon)},{alt}")
    elif kind == 3 and payload and payload[0] < 4 and clock is not None:
        severity = ["debug", "info", "warning", "error"][payload[0]]
        messages.append({"time": moment(clock), "severity": severity, "text": payload[1:].decode()})
    else:
        unknown += 1

with open("/app/decoded/track.csv", "w") as out:
    out.write("\n".join(["time,latitude,longitude,altitude", *track]) + "\n")
with open("/app/decoded/summary.json", "w") as out:
    json.dump({"records": records, "unknown": unknown, "skipped": skipped, "messages": messages}, out, indent=2)
PYTHON
