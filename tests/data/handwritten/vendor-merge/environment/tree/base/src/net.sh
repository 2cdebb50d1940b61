#!/bin/sh
host=localhost
port=80
retries=3
timeout=10
echo $host:$port
