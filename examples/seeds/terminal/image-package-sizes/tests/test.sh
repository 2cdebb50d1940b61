#!/bin/bash
exec python3 -I -S /tests/run_checks.py fraction
