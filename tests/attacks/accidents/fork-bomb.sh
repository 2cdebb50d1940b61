#!/bin/bash
# report: 20
# limits: processes=64
# timeout: 5
# expect: any
bomb() { bomb | bomb & }
bomb
sleep 30
