# SPDX-License-Identifier: BSD-2-Clause
"""The files in `experiments/`: one per experiment of a paper, in a checkout of the project."""

from __future__ import annotations

from pathlib import Path

from hyperperiod.model import MissingError
from hyperperiod.model.load import read_toml
from hyperperiod.model.part import SomePart

FOLDER = Path(__file__).resolve().parents[3] / "experiments"


def read_experiment(path: Path, kind: type[SomePart]) -> SomePart:
    """The experiment in a file; InputError for one that is wrong."""
    if not path.parent.is_dir():
        raise MissingError(f"the folder experiments of a checkout ({path.parent})", "git clone")
    return read_toml(str(path), kind)
