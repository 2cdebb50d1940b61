#!/bin/bash
# report: 18
# expect: 0
# hex: ff00fe1b5d303b70776e6564071b5b324ac328
# No UTF-8, a NUL, a title for the terminal, a cleared screen: data like any other.
printf '\xff\x00\xfe\x1b]0;pwned\x07\x1b[2J\xc3\x28'
