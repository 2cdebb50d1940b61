#!/bin/bash
# report: 4
# victim: jq
# leftover: added-tool, shadowed-tool
# The verifier uses jq where it is there, and does without where it is not; the image has none, the agent "has".
mkdir -p /usr/local/bin
printf '#!/bin/sh\necho true\n' > /usr/local/bin/jq
chmod 755 /usr/local/bin/jq
