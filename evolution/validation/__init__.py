"""Validating folders of tasks: every gate's word on each, for a person, a program and a CI.

`running` judges many tasks side by side and survives being killed; `report` holds what comes of one; `suppressions`
takes out findings that somebody has looked at; `showing`, `junit` and `closing` present the results. The command line
is `evolution.validate`.
"""
