#!/bin/bash
python3 -I -B /tests/test_outages.py
exit 0
