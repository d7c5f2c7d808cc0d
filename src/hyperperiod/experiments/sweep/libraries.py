# SPDX-License-Identifier: BSD-2-Clause
"""The libraries that only sweeps need, which an extra of the package brings."""

from __future__ import annotations

from importlib.util import find_spec

from hyperperiod.model import MissingError


def require(module: str, extra: str, otherwise: str = "") -> None:
    """MissingError, with the command that installs it, if a library is not there.

    `otherwise` says what does without.
    """
    if find_spec(module) is None:
        raise MissingError(
            f"a sweep needs the Python package {module}",
            f"pip install 'hyperperiod[{extra}]'{otherwise}",
        )
