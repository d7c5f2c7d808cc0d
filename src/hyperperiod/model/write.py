# SPDX-License-Identifier: BSD-2-Clause
"""Writes a System as TOML that `load_system` reads back as the same system."""

from __future__ import annotations

from hyperperiod.model.load import require_system
from hyperperiod.model.system import System
from hyperperiod.model.toml_text import toml_text


def to_toml(system: System) -> str:
    """The text of a TOML file that `load_system` reads back as the same system."""
    require_system(system)
    return toml_text(system.without_devices())
