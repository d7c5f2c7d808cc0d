# SPDX-License-Identifier: BSD-2-Clause
"""A system as a host is to be given it: with interfaces that hold for what the host itself takes.

A proof without overheads says nothing of a machine that has some. So the interfaces that a file
leaves open are computed with those of the host: what `--overheads` names, else the file's own, else
what was measured of the host (`measured.toml`). Budgets may be widened and rounded up after that,
and what they come to is judged as it stands. Where every deadline holds without overheads and not
with them, that is said loudly: such a proof does not survive the host.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil
from typing import Final, NamedTuple, TypedDict

from hyperperiod.analysis import Analysis
from hyperperiod.hosts.costs import HostCosts, measured_costs
from hyperperiod.hosts.refuse import refuse_table
from hyperperiod.hosts.result import CountedResult
from hyperperiod.model import InputError, Interface, Overheads, System, format_time
from hyperperiod.model.errors import some_names
from hyperperiod.model.load import read_toml
from hyperperiod.runs import complete

NONE: Final = "none"
"""The word for a host that takes nothing."""
NS_PER_S: Final = 1_000_000_000
MARGINS: Final = (1, 2, 5, 10, 20, 50)
"""Percentages that are tried where a proof does not survive the host."""


class HostCostOptions(TypedDict):
    """Options by which a user says a host's costs and widens budgets: see `for_host`."""

    overheads: str | None
    margin: Fraction | None
    grid_ns: int | None


class ForHost(NamedTuple):
    """A system with every interface and the host's overheads, and what is proved of it.

    `system` is what runs: its `[[stolen]]` tables are the file's. `judged` has those of the host.
    `remedy` says what would make a proof of it, where it does not survive, and `not_told` what of
    it a scheduler that is none of ours does not know.
    """

    system: System
    judged: Analysis
    counted: CountedResult
    remedy: str = ""
    not_told: str = ""

    @property
    def survives(self) -> bool:
        """False if every deadline is proved without overheads and not with the host's."""
        return self.counted.schedulable is True or self.counted.without is not True

    @property
    def with_stolen(self) -> System:
        """The system with the host's `[[stolen]]` tables as well: what `judged` is about."""
        return self.judged.resolution.known()

    @property
    def verdict(self) -> str:
        """Whether every deadline holds with the overheads that were counted, and which do not."""
        words = {True: "yes", False: "no", None: "unknown"}
        verdict, names = words[self.counted.schedulable], self.counted.not_proved
        return f"{verdict} (not proved: {some_names(names)})" if names else verdict

    @property
    def sentence(self) -> str:
        """Whose overheads were counted, and what holds with them."""
        text = f"overheads: {self.counted.source}; schedulable with them? {self.verdict}"
        if not self.survives:
            text += (
                "\nwarning: the proof does not survive the host: without overheads every deadline"
                f" holds, with these it is not proved. {self.remedy}"
            )
        return f"{text}\n{self.not_told}" if self.not_told else text

    @property
    def readme(self) -> str:
        """The part of an export's README that says what the servers hold for."""
        times = (
            f"`{name.removesuffix('_ns')}` {format_time(value)}"
            for name, value in self.counted.overheads.items()
        )
        return f"""## What the servers hold for

`hyperperiod analyze system.toml` says it, with the overheads in there
({", ".join(times) or NONE}), and for the tasks in there, not for what runs in their place.

{self.sentence.replace("warning:", "**Warning:**")}
"""


def for_host(
    system: System,
    host: str,
    *,
    overheads: str | None = None,
    margin: Fraction | None = None,
    grid_ns: int | None = None,
    computed_grid_ns: int = 1,
    judged_as: Callable[[System], System] = lambda system: system,
) -> ForHost:
    """The system as `host` ("xen", "linux", `NONE` for one with tables) is to be given it.

    `overheads` is the name of a file, or "none"; budgets become larger by `margin`, `grid_ns` and
    `computed_grid_ns` (`widened`). What is judged is what `judged_as` makes of it. Raises
    InputError for a file that has no overheads, and for a domain that no interface can be computed
    for.
    """
    if host != NONE:
        refuse_table(system)
    costs, source = costs_of(system, host, overheads)
    told = system.replace(overheads=costs.overheads, stolen=costs.stolen)
    try:
        completed = complete(Analysis(told))
    except InputError:
        # None that holds with them: those without, which are then not proved.
        completed = complete(Analysis(system.replace(overheads=Overheads(), stolen=())))
    completed = widened(system, completed, margin, grid_ns, computed_grid_ns)
    analysed = judged_as(completed.replace(overheads=costs.overheads, stolen=costs.stolen))
    judged = Analysis(analysed)
    result = judged.result()
    without = result.schedulable
    if without is not True:
        plain = judged_as(completed.replace(overheads=Overheads(), stolen=()))
        without = Analysis(plain).result().schedulable
    counted = CountedResult(
        source=source,
        overheads={name: value for name, value in vars(costs.overheads).items() if value},
        stolen_ns_per_s=sum(one.duration_ns * NS_PER_S // one.period_ns for one in costs.stolen),
        schedulable=result.schedulable,
        without=without,
        not_proved=tuple(result.not_proved),
    )
    given = completed.replace(overheads=costs.overheads, stolen=system.stolen)
    found = ForHost(given, judged, counted)
    return found if found.survives else found._replace(remedy=_remedy(analysed))


def _remedy(analysed: System) -> str:
    """Returns which margin would make a proof of it."""
    for percent in MARGINS:
        larger = widened(analysed, analysed, Fraction(percent, 100))
        if Analysis(larger).result().schedulable:
            return f"With --margin {percent}% it is"
    return f"No --margin up to {MARGINS[-1]}% is enough"


def costs_of(system: System, host: str, overheads: str | None) -> tuple[HostCosts, str]:
    """What `host` takes, and who says so: a file, the system, or what was measured of the host.

    With "none" it takes the stolen time of the system and nothing else.
    """
    if overheads == NONE:
        return HostCosts(stolen=system.stolen), NONE
    if overheads is not None:
        found = read_toml(overheads, HostCosts)
        if found == HostCosts():
            allowed = "[overheads] or [[stolen]], as doctor --measure HOST --write FILE writes them"
            raise InputError(overheads, None, "", "neither", allowed)
        return found, overheads
    own = HostCosts(overheads=system.overheads, stolen=system.stolen)
    if system.overheads != Overheads():
        return own, "the file's"
    measured, on = measured_costs(host)
    if own.stolen:
        measured = measured.replace(stolen=own.stolen)
    return measured, f"measured on {on}"


def widened(
    given: System,
    completed: System,
    margin: Fraction | None = None,
    grid_ns: int | None = None,
    computed_grid_ns: int = 1,
) -> System:
    """The completed system with larger budgets, of at most a period.

    All are widened by `margin` and rounded up to `grid_ns` where one of them is given; those that
    `given` leaves open are on `computed_grid_ns` anyway. A spare that it leaves open is rounded
    down.
    """

    if given.major_frame_ns is not None and (margin, grid_ns) != (None, None):
        found = "--margin or --grid beside a table of windows"
        raise InputError("", None, "major_frame", found, "windows as the file has them")

    def larger(asked: Interface | None, found: Interface | None) -> Interface | None:
        if found is None or (asked is not None and margin is None and grid_ns is None):
            return found
        step_ns = grid_ns or (computed_grid_ns if asked is None else 1)
        budget_ns = ceil(found.budget_ns * (1 + (margin or 0)) / step_ns) * step_ns
        return found.replace(budget_ns=min(budget_ns, found.period_ns))

    domains = []
    for asked, domain in zip(given.domains, completed.domains, strict=True):
        own = tuple(
            vcpu.replace(interface=larger(keys.interface, vcpu.interface))
            for vcpu, keys in zip(domain.own_vcpus, asked.each_vcpu, strict=False)
        )
        interface = larger(asked.interface, domain.interface)
        domains.append(domain.replace(interface=interface, own_vcpus=own))
    spare = completed.spare
    if spare is not None and given.spare is None:
        budget_ns = max(computed_grid_ns, spare.budget_ns // computed_grid_ns * computed_grid_ns)
        spare = spare.replace(budget_ns=budget_ns)
    return completed.replace(domains=tuple(domains), spare=spare)
