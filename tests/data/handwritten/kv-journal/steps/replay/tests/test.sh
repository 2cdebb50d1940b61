#!/bin/bash
mkdir -p /logs/verifier
cd /srv/store
if printf 'apples\t-1\nberries\t6\ngap\t1\ngrapes\t0\nnuts\t100\npears\t7\nzest\t2\n' | cmp - state.tsv >&2 && printf 't6\n' | cmp - open.txt >&2
then echo 1
else echo 0
fi > /logs/verifier/reward.txt
