#!/bin/bash
# report: 20, 22
# limits: file_size_mb=16
# timeout: 60
# expect: failed
head -c 64M /dev/zero > /app/large
