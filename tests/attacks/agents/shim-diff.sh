#!/bin/bash
# report: 4
# victim: diff
# leftover: shadowed-tool
# A diff that always succeeds, earlier on the PATH than the image's.
mkdir -p /usr/local/bin
printf '#!/bin/sh\nexit 0\n' > /usr/local/bin/diff
chmod 755 /usr/local/bin/diff
