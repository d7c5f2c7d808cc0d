# SPDX-License-Identifier: BSD-2-Clause
"""Hyperperiod: virtual machines whose real-time tasks meet their deadlines.

The package computes each domain's CPU interface, predicts what will happen under it, runs it
on a host, measures it, and puts prediction and measurement side by side.

What programs and notebooks need most stands here; it is loaded when it is first asked for, so that
importing the package costs next to nothing:

    import hyperperiod as hp

    system = hp.load("systems/flight-control.toml")
    hp.analyze(system).schedulable
    hp.simulate(system, "1s").misses

The tests themselves, one module each, are in `hyperperiod.analysis`; systems are made of the
classes in `hyperperiod.model`.
"""

from __future__ import annotations

from hyperperiod.version import VERSION

# As in typing, whose import would be half of what this one costs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from hyperperiod.analysis.analyze import analyze
    from hyperperiod.analysis.fit.answer import Fitted
    from hyperperiod.analysis.resolve import resolve
    from hyperperiod.analysis.result import AnalysisResult
    from hyperperiod.experiments.sweep.result import SweepResult
    from hyperperiod.hosts.result import ComparisonResult, RunResult
    from hyperperiod.hosts.rule import Rule
    from hyperperiod.model import (
        Change,
        Device,
        Domain,
        FailedError,
        Flow,
        InputError,
        Interface,
        MissingError,
        Overheads,
        Overrun,
        OwnVcpu,
        PeriodRange,
        Policy,
        Source,
        Stolen,
        Swap,
        System,
        Task,
        TimeWindow,
        parse_policy,
        to_toml,
        with_policy,
    )
    from hyperperiod.workbench import compare, fit, load, simulate, sweep

__version__ = VERSION

_NAMES = {
    "analysis": ("analyze", "resolve"),
    "analysis.fit.answer": ("Fitted",),
    "analysis.result": ("AnalysisResult",),
    "experiments.sweep.result": ("SweepResult",),
    "hosts.result": ("ComparisonResult", "RunResult"),
    "hosts.rule": ("Rule",),
    "model": (
        *("Change", "Device", "Domain", "FailedError", "Flow", "InputError", "Interface"),
        *("MissingError", "Overheads", "Overrun", "OwnVcpu", "PeriodRange", "Policy", "Source"),
        *("Stolen", "Swap", "System", "Task", "TimeWindow", "parse_policy", "to_toml"),
        "with_policy",
    ),
    "workbench": ("compare", "fit", "load", "simulate", "sweep"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = [
    "AnalysisResult",
    "Change",
    "ComparisonResult",
    "Device",
    "Domain",
    "FailedError",
    "Fitted",
    "Flow",
    "InputError",
    "Interface",
    "MissingError",
    "Overheads",
    "Overrun",
    "OwnVcpu",
    "PeriodRange",
    "Policy",
    "Rule",
    "RunResult",
    "Source",
    "Stolen",
    "Swap",
    "SweepResult",
    "System",
    "Task",
    "TimeWindow",
    "analyze",
    "compare",
    "fit",
    "load",
    "parse_policy",
    "resolve",
    "simulate",
    "sweep",
    "to_toml",
    "with_policy",
]


if not TYPE_CHECKING:  # whoever checks types has the names above, and no others

    def __getattr__(name: str) -> object:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"hyperperiod.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
