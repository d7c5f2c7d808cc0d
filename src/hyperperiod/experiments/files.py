# SPDX-License-Identifier: BSD-2-Clause
"""The files in `experiments/`: one per experiment of a paper."""

from __future__ import annotations

from pathlib import Path

from hyperperiod.model.load import read_toml
from hyperperiod.model.part import SomePart


def read_experiment(path: Path, kind: type[SomePart]) -> SomePart:
    """The experiment in a file; InputError for one that is wrong."""
    return read_toml(str(path), kind)
