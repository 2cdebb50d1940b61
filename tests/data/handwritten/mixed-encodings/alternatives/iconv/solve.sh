#!/bin/bash
cd /home/user/letters || exit 1
find . -name '*.txt' -printf '%P\n' | LC_ALL=C sort > /tmp/list
while read -r f; do
    o=../letters-utf8/$f
    mkdir -p "$(dirname "$o")"
    case $(head -c 3 "$f" | od -An -tx1 | tr -d ' \n') in
        efbbbf) tail -c +4 "$f" ;;
        fffe*) tail -c +3 "$f" | iconv -f UTF-16LE -t UTF-8 ;;
        feff*) tail -c +3 "$f" | iconv -f UTF-16BE -t UTF-8 ;;
        *) e=$(awk -F'\t' -v f="$f" '$1 == f { print $2 }' ENCODINGS)
           iconv -f "${e:-UTF-8}" -t UTF-8 "$f" ;;
    esac | sed -z 's/\r\n/\n/g; s/\r/\n/g' > "$o"
    printf '%s\t%s\t%s\n' "$f" "$(wc -m < "$o")" "$(sha256sum < "$o" | cut -c1-64)"
done < /tmp/list > /tmp/index
mv /tmp/index ../letters-utf8/INDEX.tsv
