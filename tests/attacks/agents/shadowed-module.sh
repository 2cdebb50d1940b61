#!/bin/bash
# report: 3
# victim: pytest-module
# leftover: shadowed-module
# `python3 -m pytest` looks into the working directory first.
cat > /app/pytest.py <<'END'
raise SystemExit(0)
END
