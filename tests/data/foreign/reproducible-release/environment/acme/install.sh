#!/bin/bash
install -m 0644 src/*.c "$1"
