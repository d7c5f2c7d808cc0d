# SPDX-License-Identifier: BSD-2-Clause
"""Handfuls of parts: a worker does those that it has time for, and all are done once."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from pickle import dumps
from typing import Any

import pytest
from distributed import Client
from tests.sweep.sweeps import MANY, written

from hyperperiod.experiments.sweep import on_dask
from hyperperiod.experiments.sweep.experiment import LoadedSweep, PartOfWork, load_sweep
from hyperperiod.experiments.sweep.on_dask import _drain, _judged
from hyperperiod.experiments.sweep.tables import part_as_parquet
from hyperperiod.model import FailedError, InputError, MissingError
from hyperperiod.version import VERSION

PARTS = 20
ONE = PARTS // 2
"""The part with which something is wrong, where something is."""


@pytest.fixture
def experiment(tmp_path: Path) -> LoadedSweep:
    return load_sweep(str(written(tmp_path, MANY)), 16 * PARTS)


def judged(experiment: LoadedSweep, numbers: Sequence[int]) -> Any:
    return _judged(dumps((experiment.name, experiment.document)), numbers, VERSION)


def fails_at_one(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def part_or_error(experiment: LoadedSweep, part: PartOfWork) -> dict[str, bytes]:
        if part.number == ONE:
            raise error
        return part_as_parquet(experiment, part)

    monkeypatch.setattr(on_dask, "part_as_parquet", part_or_error)


@pytest.mark.parametrize(("turn_s", "done"), [(-1.0, [3]), (3600.0, [3, 4, 7])])
def test_a_worker_stops_when_its_turn_is_over(
    monkeypatch: pytest.MonkeyPatch, experiment: LoadedSweep, turn_s: float, done: list[int]
) -> None:
    """One part it always does."""
    monkeypatch.setattr(on_dask, "TURN_S", turn_s)
    parts = experiment.parts()
    expected = {number: part_as_parquet(experiment, parts[number]) for number in done}
    assert judged(experiment, [3, 4, 7]) == expected


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InputError("f", None, "k", "a", "b"), list(InputError("f", None, "k", "a", "b").problems)),
        (MissingError("a solver", "apt-get install one"), ("a solver", "apt-get install one")),
    ],
)
def test_what_is_wrong_is_said_of_the_first_part(
    monkeypatch: pytest.MonkeyPatch, experiment: LoadedSweep, error: Exception, said: object
) -> None:
    """The parts before one that fails are handed back as if nothing were wrong. When it is handed
    out again, as the first of a handful, its worker says what is wrong."""
    monkeypatch.setattr(on_dask, "TURN_S", 3600.0)
    fails_at_one(monkeypatch, error)
    assert list(judged(experiment, [ONE - 2, ONE - 1, ONE])) == [ONE - 2, ONE - 1]
    assert judged(experiment, [ONE, ONE + 1]) == said


@pytest.mark.parametrize("turn_s", [-1.0, 3600.0])
def test_every_part_is_kept_once(
    monkeypatch: pytest.MonkeyPatch, experiment: LoadedSweep, turn_s: float
) -> None:
    """Those of a handful that a worker did not come to, too."""
    monkeypatch.setattr(on_dask, "TURN_S", turn_s)
    kept, found = drained(experiment)
    assert kept == Counter(range(PARTS))
    assert found == {part.number: part_as_parquet(experiment, part) for part in experiment.parts()}


def test_a_part_that_fails_is_named(
    monkeypatch: pytest.MonkeyPatch, experiment: LoadedSweep
) -> None:
    monkeypatch.setattr(on_dask, "TURN_S", 3600.0)
    fails_at_one(monkeypatch, ValueError("no more"))
    with pytest.raises(FailedError, match=f"part {ONE}, systems 160 to 175: ValueError: no more"):
        drained(experiment)


def drained(experiment: LoadedSweep) -> tuple[Counter[int], dict[int, dict[str, bytes]]]:
    """How often each part was kept, and its files, by a worker in a thread of this process."""
    kept: Counter[int] = Counter()
    found: dict[int, dict[str, bytes]] = {}

    def keep(part: PartOfWork, files: dict[str, bytes]) -> None:
        kept[part.number] += 1
        found[part.number] = files

    todo = deque(experiment.parts())
    with Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as client:
        _drain(client, experiment, todo, keep)
    assert not todo
    return kept, found
