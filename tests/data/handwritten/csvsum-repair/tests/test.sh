#!/bin/bash
cd /tests || exit 1
failed=0 count=0
tool=/opt/csvsum/csvsum
mkdir -p /tmp/w; cd /tmp/w || exit 1

# run NAME STATUS EXPECTED ARGS...   (standard input: the file)
run() {
    local name=$1 status=$2 expected=$3 out rc
    shift 3
    count=$((count + 1))
    out=$(timeout 10 "$tool" "$@" 2> stderr; echo "rc=$?")
    if [ "$out" != "${expected:+$expected
}rc=$status" ]; then
        echo "FAILED $name: $out"
        failed=$((failed + 1))
    elif [ "$status" != 0 ] && [ ! -s stderr ]; then
        echo "FAILED $name: no message"
        failed=$((failed + 1))
    else
        echo "passed $name"
    fi
}

printf 'b,k,v\n1,zoo,5\n2,Ant,0010\n3,zoo,-7\n4,ant,08\n5,,\n' > plain
run plain 0 $',0\nAnt,10\nant,8\nzoo,-2' k v < plain
run by-number 0 $'Ant,10\nant,8\n,0\nzoo,-2' -n k v < plain
run other-columns 0 $'1,1\n2,2\n3,3\n4,4\n5,5' b b < plain
run no-key 65 '' nokey v < plain
run no-value 65 '' k V < plain
run no-arguments 64 '' < plain
run one-argument 64 '' k < plain
run three-arguments 64 '' k v b < plain
run bad-option 64 '' -x k v < plain

printf 'name|n|rest\r\n* |+3|x\r\n a|4|y y\r\n* |1|\r\n\r\n[ab]|2|$HOME\r\n *|0|z' > odd
run crlf-and-stars 0 $' *|0\n a|4\n* |4\n[ab]|2' -d '|' name n < odd
run last-column 0 $'|1\n$HOME|2\nx|3\ny y|4\nz|0' -d '|' rest n < odd
printf 'k;v\na;5\nb;5\nc;50\nd;-5\ne;9\nB;5' > ties
run ties 0 $'c;50\ne;9\nB;5\na;5\nb;5\nd;-5' -nd ';' k v < ties
printf 'k,v\na,1x\n' > bad
run not-a-number 65 '' k v < bad
printf 'k,v\nb,3\na,1.5\n' > bad2
run no-partial-output 65 '' k v < bad2
printf 'k,v\n' > headonly
run header-only 0 '' k v < headonly
printf 'v,x y,k\n,p q,0x10\n999999999999999,p q,k[1]\n1,p q,k[1]\n' > big
run big 0 $'0x10,0\nk[1],1000000000000000' k v < big
run blank-in-column-name 0 'p q,1000000000000000' 'x y' v < big

echo "$((count - failed)) of $count"
[ $failed -eq 0 ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
