"""A Harbor task directory as a value: read, checked, written; its settings, its phases and its reference solution."""

from sandbox.task.task import Finding, Task, TaskFile, TaskStep

__all__ = ["Finding", "Task", "TaskFile", "TaskStep"]
