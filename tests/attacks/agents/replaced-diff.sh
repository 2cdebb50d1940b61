#!/bin/bash
# report: 4
# victim: diff
# leftover: replaced-tool
# The image's own diff is replaced.
tool=$(readlink -f "$(command -v diff)")
rm "$tool"
printf '#!/bin/sh\nexit 0\n' > "$tool"
chmod 755 "$tool"
