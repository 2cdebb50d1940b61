#!/bin/bash
if diff /tests/status.tsv /home/archivist/status.tsv; then r=1; else r=0; fi
echo $r > /logs/verifier/reward.txt
