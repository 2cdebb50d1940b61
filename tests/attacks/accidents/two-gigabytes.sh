#!/bin/bash
# report: 17
# timeout: 240
# expect: 0
# truncated: yes
# starts: the first words
# ends: the last words
# More output than anybody wants; its first and its last words are kept.
echo "the first words"
head -c 2G /dev/zero
echo "the last words"
