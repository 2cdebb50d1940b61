#!/bin/bash
python3 -I /tests/hidden_cases.py
