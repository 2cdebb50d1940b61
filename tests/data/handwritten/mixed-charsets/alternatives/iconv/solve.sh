#!/bin/bash
# iconv, sed and awk; python only for the normalisation.
export LC_ALL=C
cd /srv/texts/in
find . -name '*.txt' -type f | sed 's/^..//' | sort | while IFS= read -r f; do
    case $(head -c 3 "$f" | od -An -tx1 | tr -d ' ') in
        fffe*) e=utf-16le from=UTF-16 ;;
        feff*) e=utf-16be from=UTF-16 ;;
        efbbbf) e=utf-8-bom from=UTF-8 ;;
        *)
            if ! tr -d '\000-\177' < "$f" | grep -qa .; then e=ascii from=ASCII
            elif iconv -f UTF-8 -t UTF-8 "$f" > /dev/null 2>&1; then e=utf-8 from=UTF-8
            elif tr -dc '\201\215\217\220\235' < "$f" | grep -qa .; then e=broken
            elif tr -dc '\200-\237' < "$f" | grep -qa .; then e=windows-1252 from=WINDOWS-1252
            else e=latin-1 from=ISO-8859-1; fi ;;
    esac
    printf '%s\t%s\n' "$f" $e
    [ $e = broken ] && continue
    mkdir -p "../utf8/$(dirname "$f")"
    iconv -f $from -t UTF-8 "$f" | sed '1s/^\xef\xbb\xbf//' | sed 's/\r$//' | tr '\r' '\n' |
        python3 -c 'import sys, unicodedata; sys.stdout.buffer.write(unicodedata.normalize("NFC", sys.stdin.buffer.read().decode()).encode())' |
        awk '{ if ($0 == "") { e++; next } while (e > 0) { print ""; e-- } print }' > "../utf8/$f"
done > ../report.tsv
