# SPDX-License-Identifier: BSD-2-Clause
"""The experiments by name, each as its file in `experiments/` describes it.

A file may be `like` another one beside it, whose keys hold where it has none: figures of one kind
have their claims in common.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hyperperiod.model.load import read_experiment_document, read_toml
from hyperperiod.model.values import TomlTable
from hyperperiod.papers.arinc import ArincDomains, ArincInterfaces
from hyperperiod.papers.experiment import Experiment
from hyperperiod.papers.hot_swap import HotSwap
from hyperperiod.papers.interface_search import InterfaceSearch
from hyperperiod.papers.loops import AwayLoops, BareLoops, Interrupts
from hyperperiod.papers.packets import StabilityControl
from hyperperiod.papers.requests import Requests
from hyperperiod.papers.responses import ResponseTimes
from hyperperiod.papers.server_overhead import ServerAllocations, ServerNumbers, ServerTests
from hyperperiod.papers.server_trace import ServerTrace
from hyperperiod.papers.spare_gain import SpareGain
from hyperperiod.papers.worst_packets import WorstPackets
from hyperperiod.resources import EXPERIMENTS

MEASURES: Final[dict[str, type[Experiment]]] = {
    "arinc-domains": ArincDomains,
    "arinc-interfaces": ArincInterfaces,
    "away-loops": AwayLoops,
    "bare-loops": BareLoops,
    "hot-swap": HotSwap,
    "interface-search": InterfaceSearch,
    "interrupts": Interrupts,
    "requests": Requests,
    "responses": ResponseTimes,
    "server-allocations": ServerAllocations,
    "server-numbers": ServerNumbers,
    "server-tests": ServerTests,
    "server-trace": ServerTrace,
    "spare-gain": SpareGain,
    "stability-control": StabilityControl,
    "worst-packets": WorstPackets,
}
"""What measures, by the word that files have for it."""


def load_experiment(name: str, folder: Path = EXPERIMENTS) -> Experiment:
    """The experiment of that name; InputError for a file that is wrong."""
    file = str(folder / f"{name}.toml")
    document, _ = read_experiment_document(file)
    shared: TomlTable = {}
    if "like" in document:
        shared, _ = read_experiment_document(str(EXPERIMENTS / document["like"]))
    return read_toml(file, MEASURES[(shared | document)["measure"]], shared)
