# Writes a tar archive of the paths that are there to standard output.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd /
found=()
for path; do
    path=${path#"${path%%[!/]*}"}
    [[ -e ${path:-.} || -L $path ]] && found+=("${path:-.}")
done
(( ${#found[@]} )) || exit 3
exec tar -c -f - -- "${found[@]}"
