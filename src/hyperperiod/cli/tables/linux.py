# SPDX-License-Identifier: BSD-2-Clause
"""Servers on a Linux machine: what they are promised, have had, and who belongs to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hyperperiod.cli.table import Column, Table, numbers, words
from hyperperiod.cli.tables.cells import NO_VALUE, budget_text, count_text, share_text, time_text
from hyperperiod.hosts.linux.rates import quantile_ns


def summary(status: Mapping[str, Any]) -> str:
    """One line: what is in force where, or that nothing is."""
    if "policy" not in status:
        return "nothing is in force: no policy, no servers"
    policy = status["policy"]
    rules = policy["rules"] + ("+global" if policy["global"] else "")
    cpus = ",".join(map(str, status["cpus"]))
    if status["running"]:
        return f"in force: {rules} on cpus {cpus}"
    return f"not in force: {rules} on cpus {cpus}" + _why(status)


def _why(status: Mapping[str, Any]) -> str:
    reason = status.get("ended")
    return f" (the kernel: {reason})" if reason else ""


def servers_table(status: Mapping[str, Any]) -> Table:
    """Returns the table of a status of the daemon, with a row for each server."""
    columns = [
        *words("server"),
        *numbers("cpu"),
        *words("promised"),
        *numbers("had", rank=0),
        *numbers("short", rank=0),
        *numbers("99% woke", "stolen", "overrun"),
        *words("inside", rank=3),
        *numbers("runnable"),
        Column("members", rank=2, folds=20),
    ]
    table = Table("Servers", columns)
    for server in status["servers"]:
        table.add_row(
            server["name"],
            cpus_text(server),
            promised_text(server),
            share_text(share_had(server)),
            NO_VALUE if not server.get("periods") else count_text(server["short_periods"]),
            woke_text(_woke_p99_ns(server)),
            time_text(server.get("stolen_ns")),
            time_text(server.get("overrun_ns_max")),
            server["inside"],
            NO_VALUE if "runnable" not in server else str(server["runnable"]),
            " ".join(map(member_text, server["members"])) or count_text(0),
        )
    return table


def _woke_p99_ns(server: Mapping[str, Any]) -> int | None:
    counts = server.get("wakeup_counts")
    return quantile_ns(counts, 99, server["wakeup_ns_max"]) if counts else None


def woke_text(time_ns: int | None) -> str:
    """A time within which threads that woke up had a cpu: at most that."""
    return NO_VALUE if time_ns is None else f"≤{time_text(time_ns)}"


def cpus_text(server: Mapping[str, Any]) -> str:
    """Returns the cpus that a server may run on, as a list such as 0,2-3."""
    if "pcpus" in server:
        return ",".join(map(str, server["pcpus"]))
    return str(server.get("pcpu", "any"))


def promised_text(server: Mapping[str, Any]) -> str:
    """A server's budget and period in words, or that it has what is left."""
    if server.get("best_effort"):
        return "best effort"
    return budget_text(server["period_ns"], server["budget_ns"])


def share_had(server: Mapping[str, Any]) -> float | None:
    """Returns the part of a cpu that a server has had since the start, or None before it."""
    if not server.get("now_ns"):
        return None
    had_ns: int = server["used_ns"] + server["extra_ns"] - server["donated_ns"]
    return had_ns / float(server["now_ns"])


def member_text(member: Mapping[str, Any]) -> str:
    """Returns a member of a server as it would be attached: KIND:WHAT.

    Of a pattern also how many cgroups it matches now.
    """
    kind = next(kind for kind in ("cgroup", "pid", "thread") if kind in member)
    matches = f" ({member['matches']})" if "matches" in member else ""
    return f"{kind}:{member[kind]}{matches}"
