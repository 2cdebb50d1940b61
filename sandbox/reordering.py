"""Runs inside a sandbox, in Python 3.7 or later: tests in reverse order, folders' entries in another one.

Written there under the name `sitecustomize.py` in a folder of `PYTHONPATH`, so that an isolated Python (`-I`, `-E`)
does without it instead of failing. That folder's name says what is to be reordered. Standard library only.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` would only make each start of a Python slower
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType
    from typing import Any

TESTS, FOLDERS = "tests", "folders"


class _Hooks:
    """Finds modules as usual, and changes some just after they were loaded."""

    def __init__(self, changes: dict[str, Callable[[Any], None]]) -> None:
        self._changes = changes

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        del path, target
        change = self._changes.pop(name, None)
        if change is None:
            return None
        from importlib.util import find_spec

        spec = find_spec(name)  # the name is not among the changes any more, so this does not come back here
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            execute = spec.loader.exec_module

            def changed(module: ModuleType) -> None:
                execute(module)
                change(module)

            spec.loader.exec_module = changed  # type: ignore[method-assign]
        return spec


def reverse_pytest(module: Any) -> None:
    """Has pytest run what it collected from the last to the first; those of a module and a class stay together."""

    class Reversing:
        def pytest_collection_modifyitems(self, items: list[Any]) -> None:
            items.reverse()

    manager = module.PytestPluginManager
    start = manager.__init__

    def started(self: Any, *args: Any, **more: Any) -> None:
        start(self, *args, **more)
        self.register(Reversing(), "conditions-reversing")

    manager.__init__ = started


def reverse_unittest(module: Any) -> None:
    """Has unittest run the test methods of a class, and the classes of a module, from the last to the first."""
    loader = module.TestLoader
    names, load = loader.getTestCaseNames, loader.loadTestsFromModule

    def reversed_names(self: Any, case: Any) -> list[str]:
        return list(names(self, case))[::-1]

    def reversed_classes(self: Any, found: Any, *args: Any, **more: Any) -> Any:
        suite = load(self, found, *args, **more)
        return self.suiteClass(list(suite)[::-1])

    loader.getTestCaseNames, loader.loadTestsFromModule = reversed_names, reversed_classes


class _Entries:
    """What `os.scandir` gives, in reverse order."""

    def __init__(self, entries: Iterable[os.DirEntry[Any]]) -> None:
        self._rest = iter(sorted(entries, key=lambda entry: entry.name)[::-1])

    def __iter__(self) -> _Entries:
        return self

    def __next__(self) -> os.DirEntry[Any]:
        return next(self._rest)

    def __enter__(self) -> _Entries:  # noqa: PYI034 - `typing` is for the checker alone
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._rest = iter(())


def reverse_folders() -> None:
    """Has `os.listdir` and `os.scandir`, and all that is built on them, give names from the last to the first."""
    listed, scanned = os.listdir, os.scandir

    def listdir(*args: Any, **more: Any) -> list[Any]:
        return sorted(listed(*args, **more))[::-1]

    def scandir(*args: Any, **more: Any) -> _Entries:
        with scanned(*args, **more) as entries:
            return _Entries(list(entries))

    os.listdir, os.scandir = listdir, scandir  # type: ignore[assignment]
    os.supports_fd.update({listdir, scandir})


def install() -> None:
    """Does what the name of its folder asks for, and gets out of the way of another `sitecustomize`."""
    here = __file__.rpartition("/")[0]
    what = here.rpartition("/")[2]
    if what == FOLDERS:
        reverse_folders()
    if what == TESTS:
        sys.meta_path.insert(0, _Hooks({"_pytest.config": reverse_pytest, "unittest.loader": reverse_unittest}))
    sys.path[:] = [folder for folder in sys.path if folder != here]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found] # noqa: F401
    except ImportError:
        if own is not None:
            sys.modules["sitecustomize"] = own


if __name__ == "sitecustomize":
    install()
