"""Skills: one file each."""
