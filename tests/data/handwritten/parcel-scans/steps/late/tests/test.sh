#!/bin/bash
python3 -I /tests/verify.py
