# SPDX-License-Identifier: BSD-2-Clause
"""Which figures can be drawn again, and the files that describe them."""

from __future__ import annotations

from pathlib import Path

from hyperperiod.experiments.files import read_experiment
from hyperperiod.experiments.reproduce.arinc import ArincDomains, ArincResponses, ArincTable
from hyperperiod.experiments.reproduce.away import Away
from hyperperiod.experiments.reproduce.bare_machine import BareMachine
from hyperperiod.experiments.reproduce.figure import Experiment
from hyperperiod.experiments.reproduce.hot_swap import HotSwap
from hyperperiod.experiments.reproduce.interface_search import InterfaceSearch
from hyperperiod.experiments.reproduce.interrupts import Interrupts
from hyperperiod.experiments.reproduce.requests import Requests
from hyperperiod.experiments.reproduce.server_overhead import (
    ServerAllocations,
    ServerNumbers,
    ServerTests,
)
from hyperperiod.experiments.reproduce.server_trace import ServerTrace
from hyperperiod.experiments.reproduce.spare_gain import SpareGain
from hyperperiod.experiments.reproduce.stability_control import StabilityControl
from hyperperiod.experiments.reproduce.synthetic import Synthetic
from hyperperiod.experiments.reproduce.worst_packets import WorstPackets
from hyperperiod.resources import EXPERIMENTS

_Kind = (
    SpareGain
    | Requests
    | StabilityControl
    | WorstPackets
    | ServerNumbers
    | ServerTests
    | ServerAllocations
    | ServerTrace
    | Synthetic
    | ArincTable
    | ArincResponses
    | ArincDomains
    | InterfaceSearch
    | HotSwap
    | BareMachine
    | Away
    | Interrupts
)

NAMES: dict[str, type[_Kind]] = {
    "csa-fig4": Synthetic,
    "csa-fig5": Synthetic,
    "csa-fig6": Synthetic,
    "csa-fig7": ArincResponses,
    "csa-algorithm1": InterfaceSearch,
    "csa-hot-swap": HotSwap,
    "csa-table1": ArincTable,
    "csa-table2": ArincDomains,
    "ertds-fig6": SpareGain,
    "ertds-fig7": SpareGain,
    "ertds-fig8": SpareGain,
    "ertds-fig9": Requests,
    "psedf-fig5": StabilityControl,
    "psedf-fig6": StabilityControl,
    "psedf-fig7": StabilityControl,
    "psedf-worst": WorstPackets,
    "rt-xen-fig1": BareMachine,
    "rt-xen-fig3": Away,
    "rt-xen-fig5": Away,
    "rt-xen-fig7": Interrupts,
    "exsched-fig7": ServerNumbers,
    "exsched-fig8": ServerTrace,
    "exsched-table1": ServerTests,
    "exsched-table3": ServerAllocations,
}


def load_experiment(name: str, folder: Path = EXPERIMENTS) -> Experiment:
    """The experiment of that name; InputError for a file that is wrong."""
    return read_experiment(folder / f"{name}.toml", NAMES[name])
