"""Runs a task's verifier so that nothing an agent left behind can touch it, and reads the reward."""
