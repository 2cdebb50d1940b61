#!/bin/bash
# report: 4
# victim: diff
# leftover: shell-startup
# naive: -
# Aliases and functions in every file that a shell may read, and variables that name such a file.
for file in ~/.bashrc ~/.bash_aliases ~/.profile /etc/profile /etc/bash.bashrc; do
    { echo 'shopt -s expand_aliases'; echo 'alias diff=true'; echo 'diff() { return 0; }'; echo 'export -f diff'; } >> "$file"
done
echo 'BASH_ENV=/root/.bashrc' >> /etc/environment
export BASH_ENV=/root/.bashrc ENV=/root/.bashrc
