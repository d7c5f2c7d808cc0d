# SPDX-License-Identifier: BSD-2-Clause
"""The libraries that only some commands need, which extras of the package bring."""

from __future__ import annotations

from importlib.util import find_spec

from hyperperiod.model import MissingError


def require(module: str, extra: str, what: str, otherwise: str = "") -> None:
    """MissingError, with the command that installs it, if a library that `what` needs is not there.

    `otherwise` says what does without.
    """
    if find_spec(module) is None:
        raise MissingError(
            f"{what} needs the Python package {module}",
            f"pip install 'hyperperiod[{extra}]'{otherwise}",
        )
