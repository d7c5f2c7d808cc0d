# SPDX-License-Identifier: BSD-2-Clause
"""Several runs of one system side by side: one row per task or flow, one column per run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hyperperiod.cli.table import Table, numbers, words
from hyperperiod.cli.tables.cells import share_text, time_text
from hyperperiod.hosts.result import RunFlow, RunResult, RunTask, series_names


def comparison_tables(results: Sequence[RunResult]) -> Iterable[Table]:
    """Miss ratio, mean and longest response."""
    yield _comparison("deadline miss ratio", results, lambda task: share_text(task.dmr))
    for key, title in (("mean", "mean response"), ("max", "longest response")):
        yield _comparison(title, results, _response_cell(key))


def _response_cell(key: str) -> Callable[[RunTask | RunFlow], str]:
    return lambda task: time_text(getattr(task.response_ns, key, None))


def _comparison(
    title: str, results: Sequence[RunResult], cell: Callable[[RunTask | RunFlow], str]
) -> Table:
    columns = [*words("domain", "task"), *numbers(*series_names(results))]
    table = Table(title, columns, in_blocks=True)
    for at, domain in enumerate(results[0].domains):
        for index, task in enumerate(domain.tasks):
            same = (result.domains[at].tasks[index] for result in results)
            table.add_row(domain.name, task.name, *(cell(one) for one in same))
    for at, flow in enumerate(results[0].flows):
        table.add_row("flow", flow.name, *(cell(result.flows[at]) for result in results))
    return table
