#!/bin/bash
# Runs in the working directory before the step starts.
set -e
mkdir -p /books/incoming
mv adjustments.csv /books/incoming/adjustments.csv
