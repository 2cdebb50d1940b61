# Runs a task's reference solution and its tests in this sandbox and puts the files back.
# Set before: FOLDERS (an array of what may change), STEPS (an array of step folders of /task, "." for a task with a
# single one), WORKDIR, SPOILT (a file to make unreadable first, or ""), PLAIN (names of variables with values).
KEPT=/var/tmp/kept-by-the-author
keep() { for f in "${FOLDERS[@]}"; do [ -e "$f" ] && mkdir -p "$KEPT${f%/*}" && cp -a "$f" "$KEPT$f"; done; touch "$KEPT/.done"; }
back() { for f in "${FOLDERS[@]}"; do rm -rf "$f"; [ -e "$KEPT$f" ] && mkdir -p "${f%/*}/" && cp -a "$KEPT$f" "$f"; done; }
mkdir -p "$KEPT"
if [ -e "$KEPT/.done" ]; then back; else keep; fi
[ -n "$SPOILT" ] && echo "sealed file" > "$SPOILT"
for step in "${STEPS[@]}"; do
    rm -rf /tests /solution /logs/verifier
    mkdir -p /tests /logs/verifier
    for part in tests solution; do
        for from in "/task/$part" "/task/$step/$part"; do [ -d "$from" ] && mkdir -p "/$part" && cp -a "$from/." "/$part/"; done
    done
    chmod +x /tests/test.sh /solution/solve.sh 2>/dev/null
    [ -d "/task/$step/workdir" ] && cp -a "/task/$step/workdir/." "$WORKDIR/"
    [ -f "/task/$step/workdir/setup.sh" ] && (cd "$WORKDIR" && env "${PLAIN[@]}" bash "$WORKDIR/setup.sh") >/dev/null 2>&1
    touch "$KEPT/.began"
    (cd "$WORKDIR" && exec env "${PLAIN[@]}" bash -c /solution/solve.sh) >/dev/null 2>&1 </dev/null
    find "${FOLDERS[@]}" -type f -newer "$KEPT/.began" 2>/dev/null | LC_ALL=C sort | head -n 40 | while read -r file; do
        echo "made $step $(sha256sum < "$file" | cut -c1-64) $(grep -c '[^[:space:]]' "$file") $file"
    done
    (cd "$WORKDIR" && exec env "${PLAIN[@]}" bash -c /tests/test.sh) >/dev/null 2>&1 </dev/null
    for file in reward.json reward.txt; do
        [ -f "/logs/verifier/$file" ] && echo "reward $step $(tr -d '\r\n' < "/logs/verifier/$file" | head -c 400)" && break
    done
done
back
rm -rf /tests /solution /logs/verifier
exit 0
