#!/bin/bash
cd /tests
python3 -I /tests/check_outputs.py
