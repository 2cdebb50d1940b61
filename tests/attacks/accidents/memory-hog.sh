#!/bin/bash
# report: 20, 22
# limits: memory_mb=256
# timeout: 60
# expect: failed
exec python3 -c 'hog = []
while True:
    hog.append(bytearray(16 << 20))'
