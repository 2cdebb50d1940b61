# Runs the draft in the working directory the way a trial would: nothing done, then the solution, then the solution again.
# Prints "== NAME REWARD" and the ends of the outputs for each.
[ "$(id -u)" = 0 ] || exit 0
task=$PWD

place() {
    rm -rf /app /tests /solution /logs/verifier
    mkdir -p /app /logs/verifier
    cp -R "$task/environment/data" /app/data 2>/dev/null
    cp -R "$task/solution" /solution
}

verify() {
    rm -rf /tests /logs/verifier
    mkdir -p /logs/verifier
    cp -R "$task/tests" /tests
    chmod +x /tests/test.sh 2>/dev/null
    (cd /app && timeout -k 1 15 bash -c /tests/test.sh) >/tmp/verifier.out 2>&1
    printf '\n== %s %s\n' "$1" "$(cat /logs/verifier/reward.txt 2>/dev/null)"
    tail -n 15 /tmp/verifier.out
    [ -f /logs/verifier/ctrf.json ] && tail -c 2000 /logs/verifier/ctrf.json
}

place
verify noop
for run in oracle oracle-again; do
    place
    (cd /app && timeout -k 1 15 bash /solution/solve.sh) >/tmp/solution.out 2>&1
    verify $run
    tail -n 8 /tmp/solution.out
done
rm -rf /app/out /tests /solution /logs/verifier /tmp/verifier.out /tmp/solution.out
exit 0
