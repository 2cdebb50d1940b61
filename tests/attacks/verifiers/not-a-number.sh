#!/bin/bash
# report: 6
# code: unparsable
echo nan > /logs/verifier/reward.txt
