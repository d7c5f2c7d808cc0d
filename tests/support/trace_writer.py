# SPDX-License-Identifier: BSD-2-Clause
"""Small traces written by hand, good ones and bad ones.

`Script` says what a host would record, one line per decision, and adds the charges that follow
from them. What it writes is a real file, read back by the product's own reader.
"""

from pathlib import Path
from typing import Any, Self

import numpy as np

from hyperperiod.trace.format import (
    EXTRA,
    NONE,
    RECORD,
    SECOND_PAYER,
    Header,
    Kind,
    Records,
    read,
    write_header,
)

PRESETS = {
    "ptps": ("periodic", "fp", "none"),
    "wcps": ("periodic", "fp", "lend"),
    "crps": ("periodic", "fp", "reclaim"),
    "ds": ("deferrable", "fp", "none"),
    "polling": ("polling", "fp", "none"),
    "sporadic": ("sporadic", "fp", "none"),
    "cbs": ("cbs", "edf", "none"),
    "rtds": ("deferrable", "edf", "extra"),
    "ertds": ("deferrable", "edf", "spare"),
    "sedf": ("slice-once", "edf", "weights"),
    "psedf": ("slice", "fp-edf", "weights"),
}


def vcpu(name: str, period_ns: int | None = None, budget_ns: int | None = None, **more: Any) -> Any:
    """A vcpu of a header; without an interface it is best effort."""
    entry = {
        "name": name,
        "domain": name.split(".")[0],
        "period_ns": period_ns,
        "budget_ns": budget_ns,
        "priority": period_ns,
        "pcpu": 0,
        "best_effort": period_ns is None,
        "extra": False,
    }
    return entry | more


def task(domain: str, name: str, period_ns: int, wcet_ns: int, **more: Any) -> Any:
    """A task of a header."""
    entry = {
        "domain": domain,
        "name": name,
        "kind": "periodic",
        "period_ns": period_ns,
        "deadline_ns": period_ns,
        "wcet_ns": wcet_ns,
        "bcet_ns": wcet_ns,
        "offset_ns": 0,
        "jitter_ns": 0,
        "priority": None,
    }
    return entry | more


def make_header(policy: str, vcpus: list[Any], tasks: list[Any] | None = None, **more: Any) -> Any:
    """A header for one of the named policies."""
    budget, order, slack = PRESETS[policy]
    header = {
        "format": 1,
        "system": "by-hand",
        "host": "sim",
        "policy": policy,
        "budget": budget,
        "order": order,
        "slack": slack,
        "scope": "global" if policy in ("rtds", "ertds") else "partitioned",
        "seed": 1,
        "horizon_ns": 100,
        "quantum_ns": None,
        "pcpus": 1,
        "overheads": {},
        "vcpus": vcpus,
        "spare": None,
        "tasks": tasks or [],
        "swaps": [],
        "changes": [],
    }
    return header | more


class Script:
    """Records in the making. Every line returns the script, so that lines can be chained."""

    def __init__(self, header: Any) -> None:
        self.header = header
        self.rows: list[tuple[int, ...]] = []
        self.open: dict[int, tuple[int, list[tuple[int, int]], int]] = {}

    def add(self, time_ns: int, kind: Kind, **fields: int) -> Self:
        """One record; fields that are not given mean nobody, or zero."""
        names = ("value", "job", "pcpu", "vcpu", "payer", "task")
        nobody = {"pcpu": NONE, "vcpu": NONE, "payer": NONE, "task": NONE}
        row = [fields.get(name, nobody.get(name, 0)) for name in names]
        self.rows.append((time_ns, *row, int(kind), fields.get("flags", 0), 0))
        return self

    def run(
        self, time_ns: int, vcpu: int, payer: int | None = None, *, pcpu: int = 0, **fields: int
    ) -> Self:
        """The pcpu runs the vcpu from now on; it pays for itself unless a payer is given."""
        pay = vcpu if payer is None else payer
        flags = fields.get("flags", 0)
        self._charge(time_ns, pcpu)
        payers = [(pay, flags & EXTRA)] if pay != NONE else []
        if flags & SECOND_PAYER:
            payers.append((vcpu, 0))
        self.open[pcpu] = (time_ns, payers, vcpu)
        return self.add(time_ns, Kind.RUN, pcpu=pcpu, vcpu=vcpu, payer=pay, **fields)

    def idle(
        self, time_ns: int, payer: int = NONE, *, pcpu: int = 0, value: int = 0, flags: int = 0
    ) -> Self:
        """The pcpu idles from now on, or is stolen."""
        self._charge(time_ns, pcpu)
        self.open[pcpu] = (time_ns, [(payer, 0)] if payer != NONE else [], NONE)
        return self.add(time_ns, Kind.IDLE, pcpu=pcpu, payer=payer, value=value, flags=flags)

    def arrive(self, time_ns: int, *vcpus: int) -> Self:
        """The vcpus get work."""
        for one in vcpus:
            self.add(time_ns, Kind.ARRIVE, vcpu=one)
        return self

    def depart(self, time_ns: int, *vcpus: int) -> Self:
        """The vcpus run out of work. The charge up to now comes first, as on every host."""
        for pcpu, (_, payers, running) in list(self.open.items()):
            if running in vcpus:
                self._charge(time_ns, pcpu)
                self.open[pcpu] = (time_ns, payers, running)
        for one in vcpus:
            self.add(time_ns, Kind.DEPART, vcpu=one)
        return self

    def release(self, time_ns: int, task: int, job: int, deadline_ns: int = 0) -> Self:
        """A job is released."""
        return self.add(time_ns, Kind.RELEASE, task=task, job=job, value=deadline_ns)

    def complete(self, time_ns: int, task: int, job: int, response_ns: int, vcpu: int = 0) -> Self:
        """A job has finished."""
        return self.add(time_ns, Kind.COMPLETE, task=task, job=job, vcpu=vcpu, value=response_ns)

    def miss(self, time_ns: int, task: int, job: int, deadline_ns: int) -> Self:
        """A job has missed its deadline."""
        return self.add(time_ns, Kind.MISS, task=task, job=job, value=deadline_ns)

    def end(self, time_ns: int) -> Self:
        """The run is over."""
        for pcpu in list(self.open):
            self._charge(time_ns, pcpu)
        return self.add(time_ns, Kind.END)

    def write(self, path: Path) -> Path:
        """The trace as a file."""
        write_header(path, self.header)
        with path.open("ab") as file:
            file.write(np.array(self.rows, RECORD).tobytes())
        return path

    def trace(self, folder: Path) -> tuple[Header, Records]:
        """The trace, written and read back."""
        return read(self.write(folder / "by-hand.hpt"))

    def _charge(self, time_ns: int, pcpu: int) -> None:
        if pcpu not in self.open:
            return
        start_ns, payers, vcpu = self.open.pop(pcpu)
        for payer, flags in payers if time_ns > start_ns else ():
            self.add(
                time_ns,
                Kind.CHARGE,
                pcpu=pcpu,
                payer=payer,
                vcpu=vcpu,
                flags=flags,
                value=time_ns - start_ns,
            )
