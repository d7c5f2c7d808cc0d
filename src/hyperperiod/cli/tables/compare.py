# SPDX-License-Identifier: BSD-2-Clause
"""Several runs of one system side by side: one row per task or flow, one column per run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hyperperiod.cli.table import Table, numbers, words
from hyperperiod.cli.tables.cells import share_text, time_text
from hyperperiod.hosts.result import RunFlow, RunResult, RunTask


def comparison_tables(results: Sequence[RunResult], names: Sequence[str]) -> Iterable[Table]:
    """Miss ratio, mean and longest response; each run under its name."""
    yield _comparison("deadline miss ratio", results, names, lambda task: share_text(task.dmr))
    for key, title in (("mean", "mean response"), ("max", "longest response")):
        yield _comparison(title, results, names, _response_cell(key))


def _response_cell(key: str) -> Callable[[RunTask | RunFlow], str]:
    return lambda task: time_text(getattr(task.response_ns, key, None))


def _comparison(
    title: str,
    results: Sequence[RunResult],
    names: Sequence[str],
    cell: Callable[[RunTask | RunFlow], str],
) -> Table:
    columns = [*words("domain", "task"), *numbers(*names)]
    table = Table(title, columns, in_blocks=True)
    for at, domain in enumerate(results[0].domains):
        for index, task in enumerate(domain.tasks):
            same = (result.domains[at].tasks[index] for result in results)
            table.add_row(domain.name, task.name, *(cell(one) for one in same))
    for at, flow in enumerate(results[0].flows):
        table.add_row("flow", flow.name, *(cell(result.flows[at]) for result in results))
    return table
