# SPDX-License-Identifier: BSD-2-Clause
"""What `fit` says to people, made from the object that `--json` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hyperperiod.cli.tables import interface_text, share_text
from hyperperiod.model.units import format_time

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

Json = Mapping[str, Any]


def fit_lines(result: Json) -> Iterator[RenderableType]:
    """The verdict, tables, and how far from the bound."""
    yield _headline(result)
    if "reason" in result:
        yield f"- {result['reason']}"
    if result.get("interrupted"):
        yield "interrupted: this is the best found until then"
    if result["pcpus"]:
        yield _domains(result)
        if "flows" in result:
            yield _flows(result)
        else:
            yield _pcpus(result)
    yield _summary(result)
    yield from _search(result)


def _headline(result: Json) -> Text:
    from rich.text import Text

    styles = {"optimal": "green", "fitted": "green", "infeasible": "bold red"}
    text = Text(f"{result['system']} under {result['policy']}: ")
    return text.append(result["status"], style=styles.get(result["status"], "yellow")).append(
        f", {_asked(result['asked'])}"
    )


def _asked(asked: Json) -> str:
    text = f"least {asked['least']}"
    if asked.get("rule") == "paper":
        text = "by the paper's inequalities"
    if asked["within"] is not None:
        text += f" within {share_text(asked['within'])} of the least bandwidth"
    if asked["fewest"]:
        text += " on the fewest pcpus"
    count = "1 pcpu" if asked["pcpus"] == 1 else f"up to {asked['pcpus']} pcpus"
    text += f", {count}, grid {format_time(asked['grid_ns'])}"
    if asked["periods_ns"]:
        low, high = (format_time(time_ns) for time_ns in asked["periods_ns"])
        text += f", periods {low} to {high}"
    return text


def _domains(result: Json) -> Table:
    # What a domain of a loop needs alone, or had before, says nothing.
    alone = "flows" not in result
    columns = ["domain", "pcpu", *(["before"] if alone else []), "interface"]
    numbered = any(domain["priority"] is not None for domain in result["domains"])
    columns += ["priority"] if numbered else []
    table = _table("domains", columns, ["bandwidth", *(["least alone"] if alone else [])])
    for domain in result["domains"]:
        pcpu = "all" if domain["pcpu"] is None else str(domain["pcpu"])
        row = [domain["name"], pcpu + (" (given)" if "pcpu" in domain["given"] else "")]
        row += [_before(domain)] if alone else []
        given = " (given)" if "interface" in domain["given"] else ""
        row.append(interface_text(domain["interface"]) + given)
        row += [_priority(domain)] if numbered else []
        interface = domain["interface"]
        row.append(share_text(interface["bandwidth"] if interface else None))
        row += [share_text(domain.get("least_bandwidth"))] if alone else []
        table.add_row(*row)
    return table


def _before(domain: Json) -> str:
    best_effort = "least_bandwidth" not in domain
    return interface_text(domain["before"]) if domain["before"] or best_effort else "-"


def _priority(domain: Json) -> str:
    return "-" if domain["priority"] is None else str(domain["priority"])


def _pcpus(result: Json) -> Table:
    events = ["refill runs/s", "depletions/s", "switches/s", "events/s"]
    table = _table("pcpus", ["pcpu", "domains"], ["bandwidth", *events])
    for pcpu in result["pcpus"]:
        table.add_row(
            "all" if pcpu["id"] is None else str(pcpu["id"]),
            str(len(pcpu["domains"])),
            share_text(pcpu["bandwidth"]),
            *(f"{pcpu[key]:.2f}" for key in ("runs", "depletions", "switches", "events")),
        )
    return table


def _flows(result: Json) -> Table:
    """Both sides of the inequalities of a driver loop, ours and the paper's."""
    columns = ["in", "answer", "out", "bound", "deadline"]
    table = _table("flows", ["flow", "through"], columns)
    table.add_column("the paper's inequalities")
    for flow in result["flows"]:
        table.add_row(
            flow["name"],
            flow["domain"],
            *(_time(flow[f"{key}_ns"]) for key in columns),
            "; ".join(_inequality(one) for one in flow["paper"]),
        )
    return table


def _time(time_ns: int | None) -> str:
    return "-" if time_ns is None else format_time(time_ns)


def _inequality(one: Json) -> str:
    left = "none" if one["left_ns"] is None else format_time(one["left_ns"])
    sign = "<=" if one["holds"] else "not <="
    return f"{one['inequality']}: {left} {sign} {format_time(one['right_ns'])}"


def _summary(result: Json) -> Table:
    table = _table("in all", [""], ["before", "found", "lower bound", "above it by"])
    bandwidth, events = result["bandwidth"], result["events"]
    table.add_row(
        "bandwidth",
        *(share_text(bandwidth[key]) for key in ("before", "found", "lower_bound", "gap")),
    )
    if "flows" in result:
        return table
    bound = events["lower_bound"]
    in_time = events["unit"] == "ns/s"
    table.add_row(
        "events/s",
        *(_rate(events[key], "events") for key in ("before", "found")),
        "-" if bound is None or in_time else f"{bound:.2f}",
        "-" if in_time else share_text(events["gap"]),
    )
    if in_time:
        table.add_row(
            "overhead, ns/s",
            *(_rate(events[key], "cost") for key in ("before", "found")),
            "-" if bound is None else f"{bound:.0f}",
            share_text(events["gap"]),
        )
    return table


def _rate(rates: Json | None, key: str) -> str:
    return "-" if rates is None else f"{rates[key]:.2f}"


def _search(result: Json) -> Iterator[str]:
    bounds = result["bandwidth"]["bounds"]
    if bounds:
        parts = [f"{_BOUND_NAMES[name]} {share_text(value)}" for name, value in bounds.items()]
        yield "bandwidth bounds: " + ", ".join(parts)
    if "fewest_proved" in result["search"]:
        proved = result["search"]["fewest_proved"]
        yield f"fewer pcpus: {'proved impossible' if proved else 'nothing was found, no proof'}"


_BOUND_NAMES = {
    "utilization": "the tasks' utilization",
    "relaxation": "every domain's best on the grid",
    "search": "the search",
}


def _table(title: str, words: list[str], numbers: list[str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in words:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table
