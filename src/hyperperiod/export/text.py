# SPDX-License-Identifier: BSD-2-Clause
"""A system as text that this program reads itself: TOML, or a table of its tasks.

Interfaces that the file leaves open are computed, so that both say what would be run.
"""

from __future__ import annotations

from pathlib import Path

from hyperperiod.analysis import resolve
from hyperperiod.model import System, to_table, to_toml


def export_toml(system: System) -> dict[str, str | bytes | Path]:
    """Returns the system with every interface, as one TOML file."""
    return {"system.toml": to_toml(resolve(system))}


def export_csv(system: System) -> dict[str, str | bytes | Path]:
    """The table of a system's tasks, a row each; InputError for domains that no table can say."""
    return {"tasks.csv": to_table(resolve(system))}
