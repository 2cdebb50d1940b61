echo theirs
