echo ours
