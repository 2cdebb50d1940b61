#!/bin/bash
# report: 4
# victim: pytest
# leftover: shadowed-tool, added-tool
# A pytest that always succeeds, earlier on the PATH than the image's.
mkdir -p /usr/local/bin
printf '#!/bin/sh\nexit 0\n' > /usr/local/bin/pytest
chmod 755 /usr/local/bin/pytest
