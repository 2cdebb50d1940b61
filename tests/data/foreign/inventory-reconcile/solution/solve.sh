#!/bin/bash
set -e
mkdir -p /app/out
python3 /solution/reconcile.py
