#!/bin/bash
# report: 4
# victim: python
# leftover: shadowed-tool
# A python3 that always succeeds, earlier on the PATH than the image's.
mkdir -p /usr/local/bin
printf '#!/bin/sh\nexit 0\n' > /usr/local/bin/python3
chmod 755 /usr/local/bin/python3
