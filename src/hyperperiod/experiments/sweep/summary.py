# SPDX-License-Identifier: BSD-2-Clause
"""What a sweep comes to: acceptance ratios with their intervals, and weighted schedulability.

The **acceptance ratio** of a point is how many of its systems a judge accepts, of all; what a
test does not know is not accepted. Its interval is Wilson's score interval at 95 %, which holds at
the ends as well, where the usual one is a point: of 100 systems of which all were accepted, at
least 96.3 %. **Weighted schedulability** (Bastoni, Brandenburg, Anderson, OSPERT 2010) is one
number for a whole curve: the mean of the verdicts over the x axis, each weighted by the utilization
of its system, since accepting one that asks for more is worth more.

Files are read one after the other: memory does not grow with the sweep.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hyperperiod.experiments.confidence import share_interval
from hyperperiod.experiments.sweep.experiment import Host, LoadedSweep, Point
from hyperperiod.experiments.sweep.folder import SweepFolder
from hyperperiod.experiments.sweep.result import Acceptance, SweepResult, WeightedAcceptance
from hyperperiod.experiments.sweep.tables import axis_values, is_number, value_text


@dataclass
class Count:
    """The verdicts of one judge at one point, and how much the systems asked for."""

    systems: int = 0
    accepted: int = 0
    unknown: int = 0
    weight: float = 0.0
    accepted_weight: float = 0.0


def summarize(experiment: LoadedSweep, folder: SweepFolder, *, interrupted: bool) -> SweepResult:
    """What the parts that are done say."""
    counts: defaultdict[tuple[int, str], Count] = defaultdict(Count)
    contradictions = 0
    for file in folder.files("systems"):
        contradictions += _add_file(counts, file)
    points = {point.number: point for point in experiment.points}
    order = [*Host, *experiment.sweep.tests]
    keys = sorted(counts, key=lambda key: (key[0], order.index(key[1])))
    ordered = {key: counts[key] for key in keys}
    rows = tuple(
        _acceptance(points[number], judge, count) for (number, judge), count in ordered.items()
    )
    return SweepResult(
        sweep=experiment.sweep.name,
        folder=str(folder.path),
        seed=experiment.sweep.seed,
        parts=len(experiment.parts()),
        done=len(folder.done()),
        interrupted=interrupted,
        contradictions=contradictions,
        points=rows,
        weighted=tuple(_weighted(experiment, ordered)),
    )


def x_key(experiment: LoadedSweep) -> str | None:
    """The key of the grid on the x axis: the one asked for, or the first with several numbers."""
    sweep = experiment.sweep
    if sweep.x is not None:
        return sweep.x
    for key, values in sweep.grid.items():
        if len(values) > 1 and all(is_number(value) for value in values):
            return key
    return None


def series_of(point: Point, without: str | None) -> tuple[str, ...]:
    """The values of a point but that on the x axis: what curve it is on."""
    return tuple(
        value if isinstance(value, str) else f"{_words(path)} {value_text(value)}"
        for path, value in point.values.items()
        if path != without
    )


def _words(path: str) -> str:
    return path.rpartition(".")[2].replace("_", " ")


def _add_file(counts: defaultdict[tuple[int, str], Count], file: Path) -> int:
    """Adds the verdicts of a part; how many systems the analysis accepts and the simulator not."""
    import pyarrow.parquet as pq

    names = ["point", "system", "utilization", "judge", "accepted"]
    columns = pq.read_table(file, columns=names).to_pydict()
    promised: set[int] = set()
    broken = 0
    for point, system, utilization, judge, accepted in zip(
        *(columns[name] for name in names), strict=True
    ):
        count = counts[point, judge]
        count.systems += 1
        count.weight += utilization
        if accepted:
            count.accepted += 1
            count.accepted_weight += utilization
        count.unknown += accepted is None
        if judge == Host.ANALYSIS and accepted:
            promised.add(system)
        broken += judge == Host.SIM and accepted is False and system in promised
    return broken


def _acceptance(point: Point, judge: str, count: Count) -> Acceptance:
    return Acceptance(
        point=point.number,
        values=_values(point.values),
        judge=judge,
        systems=count.systems,
        accepted=count.accepted,
        unknown=count.unknown,
        ratio=count.accepted / count.systems,
        ratio_interval=share_interval(count.accepted, count.systems),
    )


def _values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {path: axis_values([value])[0] for path, value in values.items()}


def _weighted(
    experiment: LoadedSweep, counts: Mapping[tuple[int, str], Count]
) -> Iterable[WeightedAcceptance]:
    """One number for each curve, in the order of the points and the judges."""
    x = x_key(experiment)
    sums: dict[tuple[tuple[str, ...], str], list[float]] = {}
    for (number, judge), count in counts.items():
        point = experiment.points[number]
        both = sums.setdefault((series_of(point, x), judge), [0.0, 0.0])
        both[0] += count.accepted_weight
        both[1] += count.weight
    for (series, judge), (accepted, all_) in sums.items():
        yield WeightedAcceptance(
            series=", ".join(series), judge=judge, schedulability=accepted / all_ if all_ else 0.0
        )
