#!/bin/bash
while ! : > "/dev/tcp/$1/$2"; do sleep 1; done
