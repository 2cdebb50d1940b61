#!/bin/bash
set -e
mkdir -p /srv/site/incoming
mv hotfix /srv/site/incoming/site-1.10.1
