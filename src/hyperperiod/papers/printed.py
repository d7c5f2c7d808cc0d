# SPDX-License-Identifier: BSD-2-Clause
"""Every table and figure of the papers: what measures it again here, and on which hosts.

The list is `experiments/papers.toml`. A table or figure is measured again by a command (`run`), or
it explains something and a page shows the same (`seen`), or it is not there yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from hyperperiod.model.load import read_toml
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import Finding
from hyperperiod.papers.experiment import Host
from hyperperiod.resources import EXPERIMENTS

Paper = Literal["CSA", "PSEDF", "ERTDS", "RT-Xen evaluation", "ExSched HSF"]


class Printed(Part):
    """A table or figure of a paper, and the command that measures it or the page that shows it."""

    name: str
    paper: Paper
    place: str
    about: str
    run: str = ""
    hosts: tuple[Host, ...] = ()
    seen: str = ""

    def _findings(self) -> Iterable[Finding]:
        if bool(self.run) != bool(self.hosts):
            yield Finding(("hosts",), f"{len(self.hosts)} hosts", "some with `run`, none without")
        if self.run and self.seen:
            yield Finding(("seen",), "a page beside a command", "one of them")

    @property
    def shown_by(self) -> str:
        """The command that measures it or the page that shows it; "not yet" without either."""
        return self.run or self.seen or "not yet"


class PrintedList(Part):
    """All of them, in the order of the papers."""

    printed: Annotated[tuple[Printed, ...], AtLeast(1)] = key(name="printed")


def load_printed(folder: Path = EXPERIMENTS) -> tuple[Printed, ...]:
    """The tables and figures of the papers; InputError for a file that is wrong."""
    return read_toml(str(folder / "papers.toml"), PrintedList).printed
