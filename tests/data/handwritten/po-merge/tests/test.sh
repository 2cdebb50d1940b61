#!/bin/bash
cd /tests
python3 -I /tests/check_po.py
echo "exit status $?"
