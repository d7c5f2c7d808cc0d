# SPDX-License-Identifier: BSD-2-Clause
"""Results for people: the verdict first, then tables.

The functions take the JSON objects that `--json` prints, so nothing can be seen here that
programs cannot read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from hyperperiod.hosts.result import series_names
from hyperperiod.model.units import NS_PER_UNIT, format_time

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

Json = Mapping[str, Any]

_NO_VALUE = "-"


def verdict_text(value: bool | None) -> Text:
    """A verdict in a word and a colour."""
    from rich.text import Text

    if value is None:
        return Text("unknown", style="yellow")
    return Text("yes", style="green") if value else Text("no", style="bold red")


def time_text(time_ns: float | None) -> str:
    """A time in the unit that suits its size, four digits or so."""
    if time_ns is None:
        return _NO_VALUE
    unit, size = "ns", 1
    for name, ns in NS_PER_UNIT.items():
        if abs(time_ns) >= ns:
            unit, size = name, ns
    return (
        f"{time_ns / size:.4g} {unit}" if time_ns < 1000 * size else f"{time_ns / size:.0f} {unit}"
    )


def rate_text(per_second: float | None) -> str:
    """So many per second."""
    return _NO_VALUE if per_second is None else f"{per_second:.2f}"


def share_text(value: Any) -> str:
    """A fraction of a pcpu or of jobs, in percent."""
    return _NO_VALUE if value is None else f"{100 * float(value):.2f} %"


def interface_text(interface: Json | None) -> str:
    """(period, budget), exactly."""
    if not interface:
        return "best effort"
    return f"{format_time(interface['budget_ns'])} in {format_time(interface['period_ns'])}"


def _table(title: str, columns: Sequence[str], left: int) -> Table:
    """A table whose first `left` columns are words and the others numbers."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < left else "right", no_wrap=index >= left)
    return table


def analysis_tables(analysis: Json) -> Iterable[Table]:
    """pcpus, domains, tasks; flows and sensitivities where there are some."""
    yield _pcpu_verdicts(analysis["pcpus"])
    yield _domain_verdicts(analysis["domains"])
    yield _task_verdicts(analysis["domains"])
    if "flows" in analysis:
        yield _flow_verdicts(analysis["flows"])
    if any("sensitivity" in domain for domain in analysis["domains"]):
        yield _domain_sensitivities(analysis["domains"])
        yield _task_sensitivities(analysis["domains"])


def searches(analysis: Json) -> Iterable[str]:
    """How interfaces were found that nothing was given of."""
    from hyperperiod.analysis.domains.algorithm_1 import search_text

    for _, domain in _all_depths(analysis["domains"]):
        if "algorithm1" in domain:
            yield f"{domain['name']}: {search_text(**domain['algorithm1'])}"


def tests_table(analysis: Json) -> Table:
    """Every test that applies, beside each other: pcpus, then domains."""
    columns = ["of", "test", "published in", "counts", "schedulable"]
    table = _table("tests", columns, len(columns))
    for name, part in _tested(analysis):
        for one in part.get("tests", ()):
            counts = "yes" if one["sound"] else "no"
            verdict = verdict_text(one["schedulable"])
            table.add_row(name, one["test"], one["source"], counts, verdict)
    return table


def _tested(analysis: Json) -> Iterable[tuple[str, Json]]:
    """What has tests, by name; pcpus of which the same is said stand together."""
    for _, alike in groupby(analysis["pcpus"], key=lambda pcpu: pcpu["tests"]):
        pcpus = list(alike)
        yield f"pcpu {', '.join(str(pcpu['id']) for pcpu in pcpus)}", pcpus[0]
    for _, domain in _all_depths(analysis["domains"]):
        yield domain["name"], domain


SHOWN_SUBJECTS = 6


def reasons(analysis: Json) -> Iterable[str]:
    """Why what is promised is not proven: each reason once, behind all that it is about."""
    subjects: dict[str, list[str]] = {}
    for name, part in _promised(analysis):
        if part.get("reason"):
            subject, reason = _of_whom(part["reason"], name)
            named = subjects.setdefault(reason, [])
            # A domain comes after its tasks, which say more.
            if subject not in named and not any(one.startswith(f"{subject}.") for one in named):
                named.append(subject)
    for reason, named in subjects.items():
        more = len(named) - SHOWN_SUBJECTS
        shown = named if more <= 1 else [*named[:SHOWN_SUBJECTS], f"{more} more"]
        yield f"{', '.join(shown)}: {reason}"


def _of_whom(reason: str, name: str) -> tuple[str, str]:
    """What a reason is about and the reason itself: one from the host level names its server."""
    subject, found, rest = reason.partition(": ")
    return (subject, rest) if found and " " not in subject else (name, reason)


def _promised(analysis: Json) -> Iterable[tuple[str, Json]]:
    """The parts with a verdict, by name: not best effort, not without a deadline; flows last."""
    for pcpu in analysis["pcpus"]:
        yield f"pcpu {pcpu['id']}", pcpu
    for _, domain in _all_depths(analysis["domains"]):
        if _is_best_effort(domain):
            continue
        for task in domain["tasks"]:
            if task["deadline_ns"] is not None:
                yield f"{domain['name']}.{task['name']}", task
        yield domain["name"], domain
    for flow in analysis.get("flows", ()):
        yield f"flow {flow['name']}", flow


def _is_best_effort(domain: Json) -> bool:
    """Whether a domain has no interface because it wants none; the analysis says why."""
    return domain["interface"] is None and str(domain.get("reason")).startswith("best effort")


def _all_depths(domains: Iterable[Json], depth: int = 0) -> Iterable[tuple[int, Json]]:
    """Domains and those inside them, outer ones first, with how deep they are."""
    for domain in domains:
        yield depth, domain
        yield from _all_depths(domain.get("domains", ()), depth + 1)


def _pcpu_verdicts(pcpus: Sequence[Json]) -> Table:
    papers = any("paper" in pcpu for pcpu in pcpus)
    columns = ["pcpu", "test", "schedulable", *(["the paper says"] if papers else []), "bandwidth"]
    table = _table("pcpus", columns, len(columns) - 1)
    for pcpu in pcpus:
        row: list[Text | str] = [
            str(pcpu["id"]),
            str(pcpu["test"]),
            verdict_text(pcpu["schedulable"]),
        ]
        if papers:
            row.append(_paper_text(pcpu.get("paper")))
        table.add_row(*row, share_text(pcpu["bandwidth"]))
    return table


def _paper_text(paper: Json | None) -> Text | str:
    """What a paper's own test says; it never counts, it is shown for comparison."""
    if paper is None:
        return _NO_VALUE
    return verdict_text(paper["schedulable"]) + f" ({paper['theorem']})"


def _domain_verdicts(domains: Iterable[Json]) -> Table:
    columns = ("domain", "interface", "schedulable", "bandwidth", "utilization", "overhead")
    table = _table("domains", columns, 3)
    for depth, domain in _all_depths(domains):
        interface = domain["interface"]
        table.add_row(
            "  " * depth + domain["name"],
            interface_text(interface) if interface or _is_best_effort(domain) else "none",
            _NO_VALUE if _is_best_effort(domain) else verdict_text(domain["schedulable"]),
            share_text(interface["bandwidth"]) if interface else _NO_VALUE,
            share_text(domain["utilization"]),
            share_text(domain["interface_overhead"]),
        )
    return table


def _task_verdicts(domains: Iterable[Json]) -> Table:
    table = _table("tasks", ("domain", "task", "schedulable", "deadline", "response bound"), 3)
    for _, domain in _all_depths(domains):
        for task in domain["tasks"]:
            due = task["deadline_ns"] is not None
            table.add_row(
                domain["name"],
                task["name"],
                verdict_text(task["schedulable"]) if due else _NO_VALUE,
                time_text(task["deadline_ns"]),
                time_text(task["response_bound_ns"]),
            )
    return table


def _flow_verdicts(flows: Sequence[Json]) -> Table:
    papers = any("paper" in flow for flow in flows)
    said = ["the paper says"] if papers else []
    closed = any("throughput_bound_hz" in flow for flow in flows)
    columns = ["flow", "path", "schedulable", *said, "deadline", "response bound"]
    more = ["least per second"] if closed else []
    table = _table("flows", [*columns, *more], len(columns) - 2)
    for flow in flows:
        paper = flow.get("paper")
        theirs = verdict_text(paper["schedulable"]) if paper else _NO_VALUE
        table.add_row(
            flow["name"],
            " > ".join(f"{hop['domain']}.{hop['task']}" for hop in flow["hops"]),
            verdict_text(flow["schedulable"]),
            *([theirs] if papers else []),
            time_text(flow["deadline_ns"]),
            time_text(flow["response_bound_ns"]),
            *([rate_text(flow.get("throughput_bound_hz"))] if closed else []),
        )
    return table


def _domain_sensitivities(domains: Iterable[Json]) -> Table:
    columns = ("domain", "least budget", "to spare", "all work may grow to")
    table = _table("what could be spared", columns, 1)
    for _, domain in _all_depths(domains):
        found = domain["sensitivity"] or {}
        table.add_row(
            domain["name"],
            time_text(found.get("least_budget_ns")),
            time_text(found.get("spare_budget_ns")),
            share_text(found.get("wcet_factor")),
        )
    return table


def _task_sensitivities(domains: Iterable[Json]) -> Table:
    columns = ("domain", "task", "slack", "largest wcet", "more than now")
    table = _table("how much tasks may grow", columns, 2)
    for _, domain in _all_depths(domains):
        for task in domain["tasks"]:
            found = task["sensitivity"] or {}
            table.add_row(
                domain["name"],
                task["name"],
                time_text(found.get("slack_ns")),
                time_text(found.get("largest_wcet_ns")),
                time_text(found.get("extra_wcet_ns")),
            )
    return table


def result_tables(result: Json) -> Iterable[Table]:
    """tasks, flows, domains, pcpus of a run."""
    yield _task_results(result["domains"])
    if result.get("flows"):
        yield _flow_results(result["flows"])
    yield _domain_results(result["domains"], result["horizon_ns"])
    yield _pcpu_results(result["pcpus"], result["horizon_ns"])


def _task_results(domains: Iterable[Json]) -> Table:
    from rich.text import Text

    columns = ("domain", "task", "jobs", "misses", "dmr", "min", "mean", "p50", "p99", "max")
    table = _table("responses", columns, 2)
    for domain in domains:
        for task in domain["tasks"]:
            misses = Text(str(task["misses"]), style="bold red" if task["misses"] else "")
            response = task["response_ns"] or {}
            table.add_row(
                domain["name"],
                task["name"],
                str(task["jobs"]),
                misses,
                share_text(task["dmr"]),
                *(time_text(response.get(key)) for key in ("min", "mean", "p50", "p99", "max")),
            )
    return table


def _flow_results(flows: Iterable[Json]) -> Table:
    from rich.text import Text

    counts = ("flow", "items", "per second", "dropped", "misses", "dmr")
    table = _table("flows", (*counts, "min", "mean", "p50", "p99", "max"), 1)
    for flow in flows:
        lost = [Text(str(flow[key]), style="bold red" if flow[key] else "") for key in _LOST]
        response = flow["response_ns"] or {}
        table.add_row(
            flow["name"],
            str(flow["items"]),
            rate_text(flow["throughput_hz"]),
            *lost,
            share_text(flow["dmr"]),
            *(time_text(response.get(key)) for key in ("min", "mean", "p50", "p99", "max")),
        )
    return table


_LOST = ("dropped", "misses")


def _domain_results(domains: Iterable[Json], horizon_ns: int) -> Table:
    table = _table("domains", ("domain", "interface", "supply", "donated to it"), 2)
    for domain in domains:
        table.add_row(
            domain["name"],
            interface_text(domain.get("interface")),
            share_text(domain["supply_ns"] / horizon_ns),
            share_text(domain["donated_ns"] / horizon_ns),
        )
    return table


def _pcpu_results(pcpus: Iterable[Json], horizon_ns: int) -> Table:
    table = _table("pcpus", ("pcpu", "busy", "idle", "switches", "picks"), 1)
    for pcpu in pcpus:
        table.add_row(
            str(pcpu["id"]),
            share_text(pcpu["busy_ns"] / horizon_ns),
            share_text(pcpu["idle_ns"] / horizon_ns),
            str(pcpu["switches"]),
            str(pcpu["picks"]),
        )
    return table


def comparison_tables(results: Sequence[Json]) -> Iterable[Table]:
    """Miss ratio, mean and longest response: one row per task, one column per run."""
    yield _comparison("deadline miss ratio", results, lambda task: share_text(task["dmr"]))
    for key, title in (("mean", "mean response"), ("max", "longest response")):
        yield _comparison(title, results, _response_cell(key))


def _response_cell(key: str) -> Callable[[Json], str]:
    return lambda task: time_text((task["response_ns"] or {}).get(key))


def _comparison(title: str, results: Sequence[Json], cell: Callable[[Json], str]) -> Table:
    table = _table(title, ("domain", "task", *series_names(results)), 2)
    for at, domain in enumerate(results[0]["domains"]):
        for index, task in enumerate(domain["tasks"]):
            same = (result["domains"][at]["tasks"][index] for result in results)
            table.add_row(domain["name"], task["name"], *(cell(one) for one in same))
    for at, flow in enumerate(results[0].get("flows", ())):
        same = (result["flows"][at] for result in results)
        table.add_row("flow", flow["name"], *(cell(one) for one in same))
    return table


SHOWN_VIOLATIONS = 3


def check_table(check: Json) -> Table:
    """Every property of a trace: what it says, and where it fails or why it was skipped."""
    title = f"{check['system']} · {check['policy']} · {check['host']}"
    table = _table(title, ["property", "verdict", "what it says, and where it fails"], 3)
    for one in check["properties"]:
        table.add_row(one["name"], _status_text(one["status"]), _property_text(one))
    return table


def _status_text(status: str) -> Text:
    from rich.text import Text

    style = {"holds": "green", "fails": "bold red", "skipped": "yellow"}
    return Text(status, style=style[status])


def _property_text(one: Json) -> Text:
    from rich.text import Text

    text = Text(one["statement"])
    if one["status"] == "skipped":
        text.append(f"\n{one['reason']}", style="yellow")
    for violation in one["examples"][:SHOWN_VIOLATIONS]:
        text.append(f"\n{violation['time_ns']} ns: {violation['text']}", style="red")
    if one["violations"] > SHOWN_VIOLATIONS:
        text.append(f"\n… {one['violations']} in all", style="red")
    return text


def claim_text(claim: Json) -> Text:
    """Whether a claim holds, what we found, and what the paper did."""
    from rich.text import Text

    sign = Text("holds", style="green") if claim["holds"] else Text("fails", style="red")
    return sign + f": {claim['text']} ({claim['ours']}; paper: {claim['paper']})"


def figure_table(columns: Sequence[str], rows: Iterable[Json]) -> Table:
    """The rows of a figure; keys that end in _ns are times."""
    table = _table("", [column.removesuffix("_ns") for column in columns], 1)
    for row in rows:
        table.add_row(*(_figure_cell(column, row[column]) for column in columns))
    return table


def _figure_cell(column: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, Mapping):
        return " / ".join(time_text(one) for one in value.values())
    if column.endswith("_ns"):
        return time_text(value)
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def latency_table(settings: Sequence[Json], test: str) -> Table:
    """One row per setting and server, the paper's before ours."""
    response = test == "response"
    cells = _response_cells if response else _clocktick_cells
    figures = _RESPONSE if response else _CLOCKTICK
    columns = ("setting", "server", "from", *figures)
    table = _table("", columns, 3)
    for setting in settings:
        name = setting["name"]
        for row in setting["rows"]:
            table.add_row(name, row["label"], row["source"], *cells(row))
            name = ""
        table.add_section()
    return table


_CLOCKTICK = ("tests", "ticks only", "longest tick", "longest loop", "times as long")
_RESPONSE = ("interrupts", "unanswered", "min", "mean", "max")


def _clocktick_cells(row: Json) -> tuple[str, ...]:
    stretch = row["stretch"]
    return (
        str(row["runs"]),
        share_text(row["tick_only"]),
        time_text(row["longest_tick_ns"]),
        time_text(row["longest_ns"]),
        _NO_VALUE if stretch is None else f"{stretch:.2f}",
    )


def _response_cells(row: Json) -> tuple[str, ...]:
    found = row["response_ns"] or {}
    known = row["source"] != "paper"
    # Without a response all of them are waiting.
    waiting = row["unanswered"] if found else row["runs"]
    return (
        str(row["runs"]) if known else _NO_VALUE,
        str(waiting) if known else _NO_VALUE,
        *(time_text(found.get(key)) for key in ("min", "mean", "max")),
    )


def misses(result: Json) -> int:
    """All missed deadlines of a run, those of flows among them."""
    late = [task["misses"] for domain in result["domains"] for task in domain["tasks"]]
    return sum(late + [flow["misses"] for flow in result.get("flows", ())])


def dropped(result: Json) -> int:
    """All items of flows that were dropped."""
    return sum(flow["dropped"] for flow in result.get("flows", ()))


def is_well(result: Json) -> bool:
    """Whether nothing was late and nothing was dropped."""
    return misses(result) == 0 and dropped(result) == 0


def misses_text(result: Json) -> Text:
    """The verdict of a run."""
    from rich.text import Text

    if is_well(result):
        return Text("no deadline missed", style="green")
    found = [
        f"{count} {what}{'s' if count > 1 else ''} {how}"
        for count, what, how in (
            (misses(result), "deadline", "missed"),
            (dropped(result), "item", "dropped"),
        )
        if count
    ]
    return Text(", ".join(found), style="bold red")
