"""Kinds of faults written beside the gates, by people who know them."""
