# SPDX-License-Identifier: BSD-2-Clause
"""Hyperperiod: virtual machines whose real-time tasks meet their deadlines.

The package computes each domain's CPU interface, predicts what will happen under it, runs it
on a host, measures it, and puts prediction and measurement side by side.

What programs need most stands here; it is loaded when it is first asked for, so that importing
the package costs next to nothing:

    import hyperperiod

    system = hyperperiod.load_system("systems/flight-control.toml")
    hyperperiod.analyze(system).schedulable
    hyperperiod.simulate(system, horizon_ns=10**9).misses

The tests themselves, one module each, are in `hyperperiod.analysis`; systems are made of the
classes in `hyperperiod.model`.
"""

from __future__ import annotations

from hyperperiod.version import VERSION

# As in typing, whose import would be half of what this one costs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hyperperiod.analysis.analyze import analyze
    from hyperperiod.analysis.fit.fit import fit
    from hyperperiod.analysis.resolve import resolve
    from hyperperiod.model import InputError, System, load_system, to_toml
    from hyperperiod.runs import simulate

__version__ = VERSION

__all__ = [
    "InputError",
    "System",
    "analyze",
    "fit",
    "load_system",
    "resolve",
    "simulate",
    "to_toml",
]

_HOMES = {
    "InputError": "model",
    "System": "model",
    "analyze": "analysis",
    "fit": "analysis.fit.fit",
    "load_system": "model",
    "resolve": "analysis",
    "simulate": "runs",
    "to_toml": "model",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"hyperperiod.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
