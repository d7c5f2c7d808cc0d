# SPDX-License-Identifier: BSD-2-Clause
"""Perfetto's own trace processor opens our traces, and SQL finds what the result object says.

The queries are those of docs/howto/perfetto.md.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.random_systems import random_system, step_of
from tools.trace_processor import Answer

from docs import queries
from hyperperiod.analysis import resolve
from hyperperiod.hosts.result import RunResult
from hyperperiod.model import Stolen, System, load_system
from hyperperiod.model.policy import legal_policies
from hyperperiod.runs import simulate
from hyperperiod.trace.convert import writer_for
from hyperperiod.trace.format import Kind, read
from tools import trace_processor

SYSTEMS = sorted((Path(__file__).parents[2] / "systems").glob("*.toml"))
POLICIES = len(legal_policies())
SOME = 6
"""One run in so many is asked about in the fast tests: a trace takes a quarter of a second."""
ERRORS = "SELECT name FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0"
SQL = {
    **queries.queries(queries.PAGE.read_text()),
    "errors": ERRORS,
    "end": "SELECT MAX(ts) FROM slice WHERE name = 'end of the run'",
    "stolen": "SELECT COALESCE(SUM(dur), 0) FROM slice WHERE category = 'stolen'",
    "drops": "SELECT COUNT(*) FROM slice WHERE name GLOB 'drop: *'",
}
Answers = dict[str, Answer]


class Case(NamedTuple):
    """A run, its trace, and what Perfetto answers."""

    name: str
    system: System
    result: RunResult
    trace: Path
    answers: Answers


needs_engine = pytest.mark.skipif(
    trace_processor.missing() is not None, reason=str(trace_processor.missing())
)
# One run of the trace processor serves all tests here.
pytestmark = [needs_engine, pytest.mark.xdist_group("perfetto")]


def example_systems() -> Iterator[tuple[str, System, int]]:
    """Those that are fitted, with some periods of the slowest task, at most 200 ms."""
    for path in SYSTEMS:
        if not path.stem.endswith("-unfitted"):
            system = resolve(load_system(path))
            periods = [task.period_ns or 0 for domain in system.domains for task in domain.tasks]
            yield path.stem, system, min(200_000_000, 20 * max(periods))


def random_systems() -> Iterator[tuple[str, System, int]]:
    for number in range(POLICIES):
        system = random_system(number)
        yield f"random {number}", system, 200 * step_of(system)


def robbed_system() -> tuple[str, System, int]:
    """One whose pcpus are stolen, each in turn and all at once."""
    (path,) = (one for one in SYSTEMS if one.stem == "zone-controller")
    thefts = (
        Stolen(period="7ms", duration="300us"),
        Stolen(pcpu=1, period="5ms", duration="1ms", offset="1ms"),
    )
    return "robbed", resolve(load_system(path)).replace(stolen=thefts), 200_000_000


@pytest.fixture(scope="module", params=[SOME, pytest.param(1, marks=pytest.mark.slow)])
def cases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    """Runs, and what Perfetto says of their traces."""
    folder = tmp_path_factory.mktemp("perfetto")
    runs = []
    some = [*example_systems(), *random_systems()][:: request.param]
    for place, (name, system, horizon_ns) in enumerate([*some, robbed_system()]):
        trace = folder / f"{place}.hpt"
        result = simulate(system, horizon_ns, 1, trace)
        writer_for(".pftrace")(*read(trace), trace.with_suffix(".pftrace"), lambda _done: None)
        runs.append((name, system, result, trace))
    asked = list(SQL.values())
    found = trace_processor.ask([(run[3].with_suffix(".pftrace"), asked) for run in runs])
    return [
        Case(name, system, result, trace, dict(zip(SQL, answers, strict=True)))
        for (name, system, result, trace), answers in zip(runs, found, strict=True)
    ]


def test_perfetto_finds_no_error(cases: list[Case]) -> None:
    for case in cases:
        assert case.answers["errors"].rows == [], case.name


def test_slices_of_a_vcpu_add_up_to_what_it_was_given(cases: list[Case]) -> None:
    for case in cases:
        domains = {vcpu: one.name for one in case.system.domains for vcpu in one.vcpu_names}
        given = dict.fromkeys(domains.values(), 0.0)
        for vcpu, _pays, _stretches, ms, _longest in case.answers["received.sql"].rows:
            if isinstance(vcpu, str) and isinstance(ms, float):
                given[domains[vcpu]] += ms
        for domain in case.result.domains:
            assert round(given[domain.name] * 1e6) == domain.supply_ns, (case.name, domain.name)


def test_releases_misses_and_responses_are_those_of_the_result(cases: list[Case]) -> None:
    for case in cases:
        found = {row[0]: row[1:] for row in case.answers["jobs.sql"].rows}
        for domain in case.result.domains:
            for task in domain.tasks:
                (releases, misses, completed, longest_ms) = found.pop(
                    f"{domain.name}.{task.name}", (0, 0, 0, None)
                )
                assert (releases, misses) == (task.jobs, task.misses), (case.name, task.name)
                if task.response_ns is None:
                    assert (completed, longest_ms) == (0, None), (case.name, task.name)
                else:
                    assert longest_ms == task.response_ns.max / 1e6, (case.name, task.name)
        assert not found, case.name


def test_preemptions_are_those_of_the_result(cases: list[Case]) -> None:
    for case in cases:
        expected = [
            (f"pcpu {one.id}", one.preemptions) for one in case.result.pcpus if one.preemptions
        ]
        assert case.answers["preemptions.sql"].rows == expected, case.name


def test_refills_and_depletions_are_those_of_the_trace(cases: list[Case]) -> None:
    for case in cases:
        header, records = read(case.trace)
        found = {row[0]: row[1:] for row in case.answers["budgets.sql"].rows}
        for number, vcpu in enumerate(header["vcpus"]):
            own = records["kind"][records["vcpu"] == number]
            counts = int((own == Kind.REPLENISH).sum()), int((own == Kind.DEPLETE).sum())
            expected = (0, 0) if vcpu["best_effort"] else counts
            assert found.get(vcpu["name"], (0, 0)) == expected, (case.name, vcpu["name"])


def test_stolen_time_is_that_of_the_result(cases: list[Case]) -> None:
    found = {case.name: case.answers["stolen"].rows for case in cases}
    stolen = {case.name: sum(pcpu.stolen_ns or 0 for pcpu in case.result.pcpus) for case in cases}
    assert found == {name: [(total,)] for name, total in stolen.items()}
    assert stolen["robbed"] > 4 * 28 * 300_000


def test_the_trace_ends_with_the_run(cases: list[Case]) -> None:
    for case in cases:
        assert case.answers["end"].rows == [(case.result.horizon_ns,)], case.name


def test_dropped_items_are_those_of_the_result(cases: list[Case]) -> None:
    for case in cases:
        dropped = sum(flow.dropped for flow in case.result.flows)
        assert case.answers["drops"].rows == [(dropped,)], case.name


def test_there_is_something_to_see(cases: list[Case]) -> None:
    """All these tests would pass if nothing ever happened."""
    assert sum(case.result.preemptions for case in cases) > 100
    assert sum(task.misses for case in cases for task in case.result.tasks) > 100
    assert any(len(case.result.pcpus) > 1 for case in cases)


def test_what_perfetto_refuses_is_an_error(tmp_path: Path) -> None:
    trace = tmp_path / "empty.pftrace"
    trace.write_bytes(b"")
    with pytest.raises(trace_processor.QueryError, match="no such table: none"):
        trace_processor.ask([(trace, ["SELECT * FROM none"])])


def test_the_answers_on_the_page_are_those_of_today() -> None:
    text = queries.PAGE.read_text()
    assert queries.rewritten(text) == text
    assert len(queries.queries(text)) >= 8
