#!/bin/bash
python3 /solution/threads.py
