#!/bin/bash
# report: 19
# timeout: 20
# expect: failed
# A script with the line ends of another system does not run, and says so.
printf '#!/bin/bash\r\necho hello\r\n' > /app/crlf
chmod 755 /app/crlf
/app/crlf
