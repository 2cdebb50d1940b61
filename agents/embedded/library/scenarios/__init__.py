"""Scenarios: one file each."""
