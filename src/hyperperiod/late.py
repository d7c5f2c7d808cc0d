# SPDX-License-Identifier: BSD-2-Clause
"""A stand-in for Python's module `inspect`, which costs half a start of Python.

Click and data classes import it; small commands ask it for one thing, to clean texts of options.
(`importlib.util.LazyLoader` does not help: it loads a module as soon as a second one imports it.)
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Inspect(ModuleType):
    """Loads the real module when anything but a text of one line is asked for."""

    def cleandoc(self, text: str) -> str:
        return self.__getattr__("cleandoc")(text) if "\n" in text else text.strip()

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def load_inspect_on_use() -> None:
    """Puts off the import of `inspect` in this process until it is needed."""
    sys.modules.setdefault("inspect", _Inspect("inspect"))
