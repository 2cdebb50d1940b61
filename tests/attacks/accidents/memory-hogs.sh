#!/bin/bash
# report: 20, 22
# limits: memory_mb=256
# timeout: 60
# expect: failed
# Each stays small; together they don't.
pids=()
for _ in 1 2 3 4 5 6 7 8; do
    python3 -c 'import time
hog = bytearray(96 << 20)
for i in range(0, len(hog), 4096):
    hog[i] = 1
time.sleep(3)' &
    pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
exit $failed
