#!/bin/bash
# report: 20
# limits: open_files=512
# timeout: 60
# expect: failed
exec python3 -c 'kept = [open("/dev/null") for _ in range(100_000)]'
