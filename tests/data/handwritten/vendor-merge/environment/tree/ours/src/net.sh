#!/bin/sh
host=localhost
port=8080
retries=5
timeout=10
echo $host:$port
