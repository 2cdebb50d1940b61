#!/bin/bash
# report: 3
# victim: python
# leftover: python-startup
# The same in the user's own folder for packages.
site=$(python3 -c 'import site; print(site.getusersitepackages())')
mkdir -p "$site"
cat > "$site/usercustomize.py" <<'END'
import sys

if "check.py" in " ".join(sys.orig_argv) or "pytest" in " ".join(sys.orig_argv):
    import os

    os._exit(0)
END
