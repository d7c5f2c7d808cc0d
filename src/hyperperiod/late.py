# SPDX-License-Identifier: BSD-2-Clause
"""A stand-in for Python's module `inspect`, which costs half a start of Python.

Click and data classes import it; small commands ask it for two things, to clean the texts of
options and for the annotations of classes. Where these are simple they are answered here; for
all else the real module is loaded. (`importlib.util.LazyLoader` does not help: it loads a module as
soon as a second one imports it.)
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Inspect(ModuleType):
    """Answers what is simple, and loads the real module for anything else."""

    def cleandoc(self, text: str) -> str:
        """The text as `inspect.cleandoc` gives it; one line has nothing but its ends to clean."""
        return self.__getattr__("cleandoc")(text) if "\n" in text else text.strip()

    def get_annotations(self, of: Any, **how: Any) -> Any:
        """The annotations as `inspect.get_annotations` gives them; most classes hold their own."""
        own: dict[str, Any] | None = None
        if isinstance(of, type) and not how:
            own = vars(of).get("__annotations__")
        return self.__getattr__("get_annotations")(of, **how) if own is None else dict(own)

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def load_inspect_on_use() -> None:
    """Puts off the import of `inspect` in this process until it is needed."""
    sys.modules.setdefault("inspect", _Inspect("inspect"))
