# SPDX-License-Identifier: BSD-2-Clause
"""Which figures can be drawn again, and the files that describe them."""

from __future__ import annotations

from pathlib import Path

from hyperperiod.experiments.files import read_experiment
from hyperperiod.experiments.reproduce.figure import Experiment
from hyperperiod.experiments.reproduce.requests import Requests
from hyperperiod.experiments.reproduce.spare_gain import SpareGain
from hyperperiod.experiments.reproduce.stability_control import StabilityControl
from hyperperiod.experiments.reproduce.worst_packets import WorstPackets
from hyperperiod.resources import EXPERIMENTS

NAMES: dict[str, type[SpareGain | Requests | StabilityControl | WorstPackets]] = {
    "ertds-fig6": SpareGain,
    "ertds-fig7": SpareGain,
    "ertds-fig8": SpareGain,
    "ertds-fig9": Requests,
    "psedf-fig5": StabilityControl,
    "psedf-fig6": StabilityControl,
    "psedf-fig7": StabilityControl,
    "psedf-worst": WorstPackets,
}


def load_experiment(name: str, folder: Path = EXPERIMENTS) -> Experiment:
    """The experiment of that name; InputError for a file that is wrong."""
    return read_experiment(folder / f"{name}.toml", NAMES[name])
