"""Kinds of faults written by people who had not read the gates. Keep it so: who edits here reads no file of a gate."""
