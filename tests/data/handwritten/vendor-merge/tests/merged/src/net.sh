#!/bin/sh
host=localhost
port=80
retries=4
timeout=10
printf '%s\n' $host:$port
