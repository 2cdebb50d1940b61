#!/bin/bash
set -e
python3 /solution/load.py
