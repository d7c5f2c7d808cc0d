# SPDX-License-Identifier: BSD-2-Clause
"""Configuration for hosts that users run themselves: a system as files in a folder.

`linux` is a system for a machine with hyperperiodd; `xen-dom0less` one that Xen boots from the
device tree, without a toolstack; `xen-xl` one for Xen with a dom0 that runs Linux. `carts`,
`carts-result`, `csv` and `toml` are the same system for other tools of analysis. What was left open
in the system is computed first; what a target cannot express is refused before anything is written.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from hyperperiod.export.carts import export_carts
from hyperperiod.export.carts_result import export_carts_result
from hyperperiod.export.dom0less import Board, export_dom0less
from hyperperiod.export.folder import write_folder
from hyperperiod.export.linux import export_linux
from hyperperiod.export.text import export_csv, export_toml
from hyperperiod.export.xl import export_xl
from hyperperiod.model import System

FOR_ANALYSIS: Final[Mapping[str, Callable[[System], dict[str, str | bytes | Path]]]] = {
    "carts": export_carts,
    "carts-result": export_carts_result,
    "csv": export_csv,
    "toml": export_toml,
}
"""Targets that need nothing but the system."""

__all__ = [
    "FOR_ANALYSIS",
    "Board",
    "export_carts",
    "export_carts_result",
    "export_csv",
    "export_dom0less",
    "export_linux",
    "export_toml",
    "export_xl",
    "write_folder",
]
