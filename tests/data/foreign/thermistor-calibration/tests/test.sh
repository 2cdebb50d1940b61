#!/bin/bash
python3 -I /tests/score.py
