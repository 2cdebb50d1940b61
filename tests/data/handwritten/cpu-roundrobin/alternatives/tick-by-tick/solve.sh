#!/bin/bash
# The clock moves one tick at a time; awk does it all.
cd /app/sim
LC_ALL=C awk -v Q="$SIM_QUANTUM" -v C="$SIM_SWITCH_COST" '
/^#/ || !NF { next }
{ n++; name[n] = $1; arr[n] = $2; nb[n] = NF - 2; for (k = 3; k <= NF; k++) b[n, k - 2] = $k; cur[n] = 1; wake[n] = -1 }
function push(i) { q[++tail] = i; inq[i] = 1 }
END {
    print "start,end,job" > "trace.csv"
    state = "free"; head = 1; alive = n; last = 0; t = 0
    while (alive > 0) {
        for (i = 1; i <= n; i++) if (arr[i] == t) push(i)
        for (i = 1; i <= n; i++) if (wake[i] == t) { wake[i] = -1; cur[i]++; push(i) }
        if (state == "run" && left == 0) {
            print started "," t "," name[job] > "trace.csv"
            busy += t - started
            if (b[job, cur[job]] > 0) push(job)
            else if (cur[job] == nb[job]) { fin[job] = t; alive--; end = t }
            else { cur[job]++; wake[job] = t + b[job, cur[job]] }
            state = "free"
        }
        if (state == "free" && head <= tail) {
            job = q[head++]; inq[job] = 0
            if (job != last && C > 0) { state = "switch"; sw = C } else { state = "run"; begin() }
            last = job
        } else if (state == "switch" && sw == 0) { state = "run"; begin() }
        if (alive == 0) break
        for (i = 1; i <= n; i++) if (inq[i]) wait[i]++
        if (state == "switch") { sw--; sws++ }
        if (state == "run") { left--; b[job, cur[job]]-- }
        t++
    }
    for (i = 1; i <= n; i++)
        printf "%s finished=%d turnaround=%d waiting=%d\n", name[i], fin[i], fin[i] - arr[i], wait[i] > "report.txt"
    printf "cpu busy=%d switching=%d idle=%d\n", busy, sws, end - busy - sws > "report.txt"
}
function begin() { started = t; left = b[job, cur[job]] < Q ? b[job, cur[job]] : Q }
' jobs.txt
