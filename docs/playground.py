# SPDX-License-Identifier: BSD-2-Clause
"""Makes the playground: the simulator in one page, with the example systems to begin with.

    python -m docs.playground build/playground.html [SYSTEM.toml ...]

The simulator is build/wasm/simulator.wasm (`make playground` makes both). An example is what the
simulator is told of a system, whose interfaces are computed here. What the page does with it is in
report/templates/playground.js. Systems that are named are there in the place of the examples. Exit
code 2: one cannot be.
"""

from __future__ import annotations

import argparse
import base64
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from hyperperiod import InputError
from hyperperiod.analysis.domains.harmonic_supply import refusal
from hyperperiod.analysis.proofs import Rules, find_proof
from hyperperiod.hosts.priorities import LAST
from hyperperiod.hosts.sim import TASK_COUNTS
from hyperperiod.model import (
    PRESETS,
    Budget,
    Order,
    Scheduler,
    Scope,
    Slack,
    TaskKind,
    load_system,
)
from hyperperiod.model.limits import PCPU_LIMIT, PRIORITY_LIMIT
from hyperperiod.model.policy import legal_policies
from hyperperiod.model.values import NAME_ALLOWED, NAME_LIMIT, NAME_PATTERN
from hyperperiod.model.words import RESERVED_NAMES
from hyperperiod.report.page import render
from hyperperiod.report.palette import COLORS
from hyperperiod.report.playground import parts_of
from hyperperiod.resources import SYSTEMS
from hyperperiod.trace.format import EXTRA, SECOND_PAYER, STOLEN, Kind

MODULE: Final = Path(__file__).parents[1] / "build" / "wasm" / "simulator.wasm"


def write(path: Path, module: Path = MODULE, files: Sequence[Path] = ()) -> None:
    """Writes the page with the simulator that is in `module` and these systems, or the examples.

    InputError for a file that the page cannot have.
    """
    names = [file.stem for file in files]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InputError(str(files[place]), None, "name", name, "one file of each name")
    render(
        path,
        "playground.html.j2",
        title="Playground",
        simulator=base64.b64encode(module.read_bytes()).decode(),
        kinds={kind.name: kind.value for kind in Kind},
        flags={"SECOND_PAYER": SECOND_PAYER, "EXTRA": EXTRA, "STOLEN": STOLEN},
        data={
            "examples": [example(file) for file in files] or list(examples()),
            "policies": {scope.value: policies(scope) for scope in Scope},
            **file_words(),
            "columns": TASK_COUNTS,
            "colors": COLORS,
            "mostPcpus": PCPU_LIMIT,
            "mostPriority": PRIORITY_LIMIT - 1,
        },
    )


def file_words() -> dict[str, Any]:
    """Words of system files by their numbers in the parts, and what a name may be."""
    return {
        "schedulers": list(Scheduler),
        "kinds": list(TaskKind),
        "budgets": list(Budget),
        "orders": list(Order),
        "slacks": list(Slack),
        "ordinary": LAST,
        "names": {
            "pattern": NAME_PATTERN,
            "limit": NAME_LIMIT,
            "allowed": NAME_ALLOWED,
            "reserved": RESERVED_NAMES,
        },
    }


def policies(scope: Scope) -> list[dict[str, Any]]:
    """The policies of a scope, those with names first: name, rules by number.

    With them goes the shape of the supply that is proved of their servers, and of ordinary ones,
    which lose slices and have this priority; None where nothing is, or none are; and whether the
    harmonic supply is sound for tasks that are in step.
    """
    known = {one.rules: one for one in reversed(PRESETS.values())}  # the first of several names
    legal = sorted(legal_policies(), key=lambda one: one.rules not in known)
    return [
        {
            "name": str(known.get(one.rules, "+".join((one.budget, one.order, one.slack)))),
            **{rule: getattr(one, rule).code for rule in ("budget", "order", "slack")},
            "harmonic": refusal(one.budget, None, ()) is None,
            "supply": _supply(Rules.of(one)),
            "ordinary": LAST if one.order is Order.FP_EDF else None,
            "ordinarySupply": _supply(Rules.of(one)._replace(budget=Budget.SLICE_ONCE)),
        }
        for one in legal
        if one.scope is scope
    ]


def _supply(rules: Rules) -> str | None:
    """Returns the shape of the supply bound that is proved under these rules, if one is."""
    proof = find_proof(rules)
    return None if proof is None else proof.supply.name.lower()


def examples() -> Iterator[dict[str, Any]]:
    """The example systems that the page can run, as it needs them."""
    for file in sorted(SYSTEMS.glob("*.toml")):
        with suppress(InputError):
            yield example(file)


def example(file: Path) -> dict[str, Any]:
    """A system as the page needs it. InputError for what the simulator or the page does not run."""
    system = load_system(file, pinned=True)
    parts = parts_of(system, str(file))
    return {"name": file.stem, "description": system.description or "", "parts": parts}


def main() -> int:
    """Writes the page that is named first, with the systems named after it. The exit code."""
    asked = argparse.ArgumentParser(
        "python -m docs.playground", description="Makes the playground."
    )
    asked.add_argument("page", type=Path)
    asked.add_argument("systems", type=Path, nargs="*")
    named = asked.parse_args()
    try:
        write(named.page, files=named.systems)
    except (InputError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
