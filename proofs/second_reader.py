# SPDX-License-Identifier: BSD-2-Clause
"""A second reader of certificates: `python3 second_reader.py SYSTEM CERTIFICATE`.

It checks what hyperperiod-check checks (check.v), in plain Python for a reviewer who would rather
read that than trust Coq's extraction. It shares no code with the analysis, which wrote the
certificate, and imports nothing beyond Python 3.11 itself. The theorems that say why the tests
below are enough stand in this folder; docs/analysis/certificates.md has the format.

It believes nothing of the certificate: all tasks, periods, orders and the policy come from the
system file, and a key of that file which is not known here is refused. From the certificate come
the budgets of servers, where the file leaves them open, and the windows.

The answer is a line and an exit code: 0 proved (all but best-effort domains), 1 something does not
hold or is left out, 2 a file is not as it should be. All times are whole nanoseconds.
"""

import json
import re
import sys
import tomllib
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import ceil, gcd
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

PAID, BEHIND = ("+lend", "+reclaim"), ("+spare", "+extra")
BUDGETS = [(one, order) for one in ("periodic", "deferrable", "polling") for order in ("fp", "edf")]
BUDGETS += [("cbs", "edf")]
RULES = {
    f"{budget}+{order}{slack}": (budget, order)
    for budget, order in BUDGETS
    for slack in ("", "+none", *(PAID if budget == "periodic" else BEHIND))
}
POLICIES = RULES | {f"{name}+partitioned": rules for name, rules in RULES.items()}
POLICIES |= dict.fromkeys(("ptps", "wcps", "crps"), ("periodic", "fp"))
POLICIES |= dict.fromkeys(("hsf-fp", "partitioned-hsf-fp"), ("periodic", "fp"))
POLICIES |= {"ds": ("deferrable", "fp"), "polling": ("polling", "fp"), "cbs": ("cbs", "edf")}
"""The policies with servers on pcpus of their own: their budget rule, and the order of servers."""
ON_ONE = {f"{name}+global": rules for name, rules in RULES.items()}
ON_ONE |= dict.fromkeys(("rtds", "ertds"), ("deferrable", "edf"))
"""Those that decide for all pcpus together: on one pcpu the same."""

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
SERVER_KEYS = {"name", "scheduler", "pcpu", "priority", "interface", "interface_period"}
SERVER_KEYS |= {"interface_period_range", "best_effort", "extra", "spread", "together", "apart"}
HOP_KEYS = {"name", "kind", "period", "wcet", "deadline", "priority", "etf"}
TASK_KEYS = HOP_KEYS | {"jitter", "offset"}
FLOW_KEYS = {"name", "source", "hops", "deadline", "queue"}
SOURCE_KEYS = {"kind", "period", "offset", "jitter", "burst"}
WINDOW_KEYS = {"window", "demand", "supply", "jobs"}


class FileError(Exception):
    """A file is not as it should be; the message says where and how."""


class LineError(Exception):
    """A line of the certificate does not hold; the message says which."""


class Task(NamedTuple):
    """Work of `cost` at least `period` apart, up to `jitter` closer, due `deadline` after release.

    The lower the rank, the higher. `punctual` jobs come at multiples of the period and at no other
    time. A visit of a flow to a task is one as well: it has the period of the source, its deadline
    bounds its response, and a job works for `least` at least.
    """

    name: str
    rank: int
    cost: int
    period: int
    deadline: int
    jitter: int = 0
    punctual: bool = True
    least: int = 0


# What a window is asked for, and what it gets.


def request(tasks: list[Task], window: int) -> int:
    """Returns the most work of all tasks that is released in a window."""
    return sum(-(-(window + one.jitter) // one.period) * one.cost for one in tasks)


def demand(tasks: list[Task], window: int) -> int:
    """Returns the most work that is released and due in a window."""
    due = [one for one in tasks if one.deadline <= window]
    return sum(((window - one.deadline + one.jitter) // one.period + 1) * one.cost for one in due)


class Supply(NamedTuple):
    """Nothing during the blackout, then the budget at the beginning of every period."""

    period: int
    budget: int
    blackout: int

    def of(self, window: int) -> int:
        """Returns the least supply in a window."""
        periods, rest = divmod(max(0, window - self.blackout), self.period)
        return periods * self.budget + min(rest, self.budget)


def most_spent(one: Task, period: int, window: int) -> int:
    """Returns the most that a deferrable server spends in a window that begins with a period.

    All periods begin together, so its next one begins a multiple of the step behind that. One of
    the two multiples next to its budget is the worst: of the budget before it that much is spent.
    """
    step = gcd(one.period, period)
    return max(
        min(one.cost, ahead, window) + Supply(one.period, one.cost, ahead).of(window)
        for ahead in (one.cost // step * step, -(-one.cost // step) * step)
    )


# The tests.


def require_window(own: Task, tasks: list[Task], supplied: Any, told: dict[str, Any]) -> None:
    """Fails unless the windows of a task hold the work of all that are not lower, itself too.

    That is one up to its deadline for all jobs, or one for each job that comes in it.
    """
    window, jobs = told.get("window", 0), told.get("jobs", [])
    if not window or (window > own.deadline and not jobs):
        raise LineError(f"{own.name}: window {window} of a deadline {own.deadline}")
    asked, got = request(tasks, window), supplied(window)
    if asked > got:
        raise LineError(f"{own.name}: window {window}: demand {asked} is above supply {got}")
    if told.get("demand", asked) != asked or told.get("supply", got) != got:
        raise LineError(f"{own.name}: window {window}: demand is {asked} and supply {got}")
    if jobs and len(jobs) != -(-(window + own.jitter) // own.period):
        raise LineError(f"{own.name}: window {window}: not as many jobs as come in it")
    others = [one for one in tasks if one is not own]
    for before, end in enumerate(jobs):
        latest = max(0, before * own.period - own.jitter) + own.deadline
        asked = (before + 1) * own.cost + request(others, end)
        if end > latest or asked > supplied(end):
            raise LineError(
                f"{own.name}: job {before + 1}: window {end} of a deadline {latest}: "
                f"demand {asked}, supply {supplied(end)}"
            )


def require_fixed_priority(tasks: list[Task], supply: Supply, told: dict[str, Any]) -> None:
    """Fails unless each task has its windows (Lemma 1, with the ceiling; Lehoczky, RTSS 1990)."""
    for own, its in zip(tasks, told["tasks"], strict=True):
        before = [one for one in tasks if one.rank <= own.rank]
        require_window(own, before, supply.of, its)


def require_edf(tasks: list[Task], supply: Supply, told: dict[str, Any]) -> None:
    """Fails unless no window asks for more than it gets.

    Up to the horizon by points: what the windows from `point` to `top` ask for, the longest most,
    is no more than what the shortest of them gets. Beyond it, with the multiple of all periods,
    since both repeat, or by straight lines through which both would have to go.
    """
    horizon, multiple = told["horizon"], told["multiple"]
    periods = [supply.period, *(one.period for one in tasks)]
    if not multiple or any(multiple % period for period in periods):
        raise LineError(f"multiple {multiple} is none of all periods")
    asked = [multiple // one.period * one.cost for one in tasks]
    got = multiple // supply.period * supply.budget
    if sum(asked) > got:
        raise LineError(f"in {multiple}: demand {sum(asked)} is above supply {got}")
    latest = max([supply.blackout, *(one.deadline for one in tasks)])
    ahead = sum(
        each * (horizon - one.deadline + one.jitter + one.period)
        for each, one in zip(asked, tasks, strict=True)
    )
    behind = got * (horizon - supply.blackout - (supply.period - supply.budget))
    if horizon < latest or (horizon < latest + multiple and ahead > behind):
        raise LineError(f"horizon {horizon} is too short")
    top = horizon
    for point in told["points"]:
        if point == 0 or demand(tasks, top) > supply.of(point):
            raise LineError(
                f"windows from {point} to {top}: demand {demand(tasks, top)} is too much"
            )
        top = point - 1
    if demand(tasks, top):
        raise LineError(f"no point for windows up to {top}")


def require_harmonic(tasks: list[Task], period: int) -> None:
    """Fails where the shorter blackout is not proved: punctual tasks with dividing periods only."""
    for one in tasks:
        divides = one.period % period == 0 or period % one.period == 0
        if not one.punctual or one.jitter or one.deadline > one.period or not divides:
            raise LineError(f"{one.name}: not for the harmonic supply")


def require_flow(hops: list[Task], limits: tuple[int, int] | None) -> None:
    """Fails unless jitters and responses of hops agree, and keep the deadline and the queue."""
    for before, one in pairwise(hops):
        spread = before.jitter + before.deadline - before.least
        if one.jitter < spread:
            raise LineError(f"{one.name}: jitter {one.jitter} is below {spread}")
    if limits is not None:
        bound, (deadline, queue) = sum(one.deadline for one in hops), limits
        if bound > deadline:
            raise LineError(f"responses add up to {bound}, above the deadline {deadline}")
        most = -(-(max(1, bound) + hops[0].jitter) // hops[0].period)
        if most > queue:
            raise LineError(f"{most} items are on their way, above the queue of {queue}")


def require_spending(own: Task, before: list[Task], window: int) -> None:
    """Fails unless the window holds a deferrable server's budget and what those not lower spend."""
    others = [one for one in before if one is not own]
    spent = own.cost + sum(most_spent(one, own.period, window) for one in others)
    if not spent <= window <= own.period:
        raise LineError(f"{own.name}: window {window} of {own.period}: servers spend {spent}")


def require_budgets(
    servers: list[Task], budget_rule: str, order: str, told: list[dict[str, Any]]
) -> None:
    """Fails unless the servers of a pcpu get their budgets; under EDF by their sum.

    Under EDF deferrable ones are judged each by what all spend in its period, as far as it is due
    there.
    """
    for one in servers:
        if not 0 < one.cost <= one.period:
            raise LineError(f"{one.name}: budget {one.cost} in period {one.period}")
    if order == "edf" and budget_rule == "deferrable":
        for own, its in zip(servers, told, strict=True):
            spent = sum(Supply(one.period, one.cost, 0).of(own.period) for one in servers)
            if its["needed"] and spent > own.period:
                raise LineError(f"{own.name}: in its period servers spend {spent}")
        return
    if order == "edf":
        product = 1
        for one in servers:
            product *= one.period
        asked = sum(one.cost * (product // one.period) for one in servers)
        if asked > product and any(its["needed"] for its in told):
            raise LineError("budgets over periods add up to more than 1")
        return
    for own, its in zip(servers, told, strict=True):
        before = [one for one in servers if one.rank <= own.rank]
        if not (its["needed"] or its.get("window", 0)):
            continue
        if budget_rule == "deferrable":
            require_spending(own, before, its.get("window", 0))
        else:
            require_window(own, before, lambda window: window, its)


# Reading.


def refuse(where: str, what: str) -> NoReturn:
    raise FileError(f"{where}: {what}")


def require_known(table: dict[str, Any], known: set[str], where: str) -> None:
    for key in table:
        if key not in known:
            refuse(where, f"{key}: not known to this checker")


def whole(table: dict[str, Any], key: str, where: str, default: int | None = None) -> int:
    """A whole number from 0 on, the default if there is none; FileError for anything else."""
    value = table.get(key, default)
    if type(value) is not int or value < 0:
        refuse(where, f"{key}: found {value!r}; allowed: a whole number from 0 on")
    return int(value)


def text(table: dict[str, Any], key: str, where: str, default: str | None = None) -> str:
    value = table.get(key, default)
    if not isinstance(value, str):
        refuse(where, f"{key}: found {value!r}; allowed: a text")
    return str(value)


def time(table: dict[str, Any], key: str, where: str, default: int | None = None) -> int:
    """A time such as 5ms or 1.5us in nanoseconds, the default if there is none."""
    if key not in table and default is not None:
        return default
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(ns|us|ms|s)", text(table, key, where))
    nanoseconds = Decimal(found[1]) * UNITS[found[2]] if found else Decimal("0.5")
    if nanoseconds != int(nanoseconds):
        refuse(where, f"{key}: found {table[key]!r}; allowed: whole nanoseconds, such as 5ms")
    return int(nanoseconds)


def listed(table: dict[str, Any], key: str, where: str) -> list[Any]:
    value = table.get(key, [])
    if not isinstance(value, list):
        refuse(where, f"{key}: found {value!r}; allowed: a list")
    return list(value)


def tables(table: dict[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    found = listed(table, key, where)
    if not all(isinstance(one, dict) for one in found):
        refuse(where, f"{key}: allowed: tables")
    return found


def read_task(domain: dict[str, Any], table: dict[str, Any]) -> Task:
    """A task of a domain; of equal ranks the first of the file is higher."""
    name = text(table, "name", domain["name"])
    where = f"{domain['name']}: task {name}"
    tasks = domain["task"]
    period = time(table, "period", where)
    if period == 0:
        raise LineError(f"{where}: period 0")
    deadline = time(table, "deadline", where, period)
    rank = {"rm": period, "dm": deadline, "edf": 0}.get(domain.get("scheduler", "rm"))
    if rank is None:
        rank = whole(table, "priority", where)
    return Task(
        name,
        rank * len(tasks) + next(place for place, one in enumerate(tasks) if one is table),
        time(table, "wcet", where),
        period,
        deadline,
        time(table, "jitter", where, 0),
        table.get("kind", "periodic") == "periodic" and time(table, "offset", where, 0) == 0,
    )


def hop_name(domain: dict[str, Any], task: dict[str, Any]) -> str:
    """Returns what flows call a task."""
    return f"{domain.get('name')}.{task.get('name')}"


def beyond_flow(flow: dict[str, Any]) -> str:
    """Returns what of a flow is not known here; empty if all is."""
    source = flow.get("source")
    if not isinstance(source, dict):
        return "source"
    unknown = [key for key in flow if key not in FLOW_KEYS]
    unknown += [f"source.{key}" for key in source if key not in SOURCE_KEYS]
    if source.get("burst", 1) != 1:
        unknown.append("source.burst")
    if source.get("kind", "periodic") not in ("periodic", "sporadic"):
        unknown.append("source.kind")
    return unknown[0] if unknown else ""


def beyond(domain: dict[str, Any], hops: list[str]) -> str:
    """Returns what of a domain is not known here, though its server is one like all others."""
    if domain.get("scheduler", "rm") not in ("rm", "dm", "fp", "edf"):
        return f"scheduler {domain['scheduler']}"
    if "guest" in domain:
        return "guest"
    tasks = domain.get("task") or []
    for task in tasks:
        known, kinds = TASK_KEYS, ["periodic", "sporadic"]
        if hop_name(domain, task) in hops:
            known, kinds = HOP_KEYS, ["event"]
        key = next((key for key in task if key not in known), "")
        if key or task.get("kind", "periodic") not in kinds:
            return f"task.{key or 'kind'}"
    return "" if tasks else "no tasks"


def read_server(
    domain: dict[str, Any], told: dict[str, Any], order_given: bool, pcpus: int
) -> tuple[Task, int]:
    """The server of a domain and its pcpu, as the certificate has them and the system allows."""
    name = domain["name"]
    where = f"server of {name}"
    require_known(told, {"domain", "pcpu", "period", "budget", "window"}, where)
    if told.get("domain") != name:
        refuse(where, "the certificate names another domain in its place")
    pcpu, period = whole(told, "pcpu", where), whole(told, "period", where)
    budget = whole(told, "budget", where)
    whole(told, "window", where, 0)
    given = domain.get("interface")
    if given is not None:
        if not isinstance(given, dict):
            refuse(where, f"interface: found {given!r}; allowed: a table")
        require_known(given, {"period", "budget"}, where)
        if (time(given, "period", where), time(given, "budget", where)) != (period, budget):
            refuse(where, "the certificate has another interface than the system")
    if time(domain, "interface_period", where, period) != period:
        refuse(where, "the certificate has another period than the system")
    home = whole(domain, "pcpu", where, 0 if pcpus == 1 else None)
    if home != pcpu or pcpu >= pcpus:
        refuse(where, "the certificate has another pcpu than the system")
    if order_given != ("priority" in domain):
        refuse(where, "all servers have priorities, or none")
    rank = whole(domain, "priority", where) if order_given else period
    return Task(name, rank, budget, period, period), pcpu


def taken(rows: list[dict[str, Any]], name: str, what: str = "domain") -> dict[str, Any] | None:
    """Takes the table about a name out of those of the certificate; None if there is none."""
    for place, row in enumerate(rows):
        if row.get(what) == name:
            return rows.pop(place)
    return None


def read_windows(row: dict[str, Any], where: str) -> None:
    for key in ("window", "demand", "supply"):
        whole(row, key, where, 0)
    for end in listed(row, "jobs", where):
        whole({"jobs": end}, "jobs", where)


def read_evidence(told: dict[str, Any], tasks: list[Task], scheduler: str, where: str) -> None:
    """Refuses evidence about a domain that is not in the form of its scheduler."""
    if scheduler == "edf":
        require_known(told, {"domain", "supply", "horizon", "multiple", "points"}, where)
        whole(told, "horizon", where)
        whole(told, "multiple", where)
        if "points" not in told:
            refuse(where, "points: missing")
        for point in listed(told, "points", where):
            whole({"points": point}, "points", where)
        return
    require_known(told, {"domain", "supply", "tasks"}, where)
    rows = told["tasks"] = tables(told, "tasks", where)
    if [row.get("task") for row in rows] != [one.name for one in tasks]:
        refuse(where, "the certificate has not the tasks of the domain")
    for row in rows:
        require_known(row, {"task"} | WINDOW_KEYS, where)
        read_windows(row, where)


class Proofs(NamedTuple):
    """The parts of a certificate that are about domains, each taken out as its domain comes."""

    servers: list[dict[str, Any]]
    domains: list[dict[str, Any]]
    flows: list[dict[str, Any]]
    not_certified: list[dict[str, Any]]

    @classmethod
    def of(cls, certificate: dict[str, Any], system: str) -> "Proofs":
        """Reads them; FileError if the certificate is of another version or system."""
        here = "certificate"
        parts = set(cls._fields)
        require_known(certificate, parts | {"certificate", "system", "assumptions"}, here)
        if whole(certificate, "certificate", here) != 1:
            refuse(here, "not of version 1")
        about = certificate.get("system")
        if not isinstance(about, dict) or about.get("name") != system:
            refuse(here, "of another system")
        require_known(about, {"name", "sha256"}, here)
        if not certificate.keys() >= parts - {"flows"}:
            refuse(here, "a part of it is missing")
        found = cls(*(tables(certificate, key, here) for key in cls._fields))
        for gap in found.not_certified:
            require_known(gap, {"domain", "why"}, here)
        return found


class Judged(NamedTuple):
    """A domain with a proof, and what is to be shown of it; visits to hops come to its tasks."""

    domain: dict[str, Any]
    tasks: list[Task]
    supply: Supply
    budget_rule: str
    scheduler: str
    told: dict[str, Any]

    def require(self) -> None:
        """Fails unless its tasks are in time on its server."""
        test = require_edf if self.scheduler == "edf" else require_fixed_priority
        try:
            if self.told["supply"] == "harmonic":
                if self.budget_rule not in ("periodic", "deferrable"):
                    raise LineError(f"the harmonic supply is not for {self.budget_rule} servers")
                require_harmonic(self.tasks, self.supply.period)
            test(self.tasks, self.supply, self.told)
        except LineError as error:
            raise LineError(f"{self.domain['name']}: {error}") from None


def read_judged(
    domain: dict[str, Any], hops: list[str], server: Task, budget_rule: str, told: dict[str, Any]
) -> Judged:
    """A domain with its tasks that are no hops, and the evidence for it."""
    name = server.name
    scheduler = domain.get("scheduler", "rm")
    rows = tables(domain, "task", name)
    tasks = [read_task(domain, one) for one in rows if hop_name(domain, one) not in hops]
    read_evidence(told, tasks, scheduler, name)
    gone = server.period - server.cost
    general = server.period + gone if budget_rule == "polling" else 2 * gone
    blackout = {"general": general, "harmonic": gone}.get(text(told, "supply", name))
    if blackout is None:
        refuse(name, f"supply {told['supply']}: not known to this checker")
    supply = Supply(server.period, server.cost, blackout)
    return Judged(domain, tasks, supply, budget_rule, scheduler, told)


def read_hop(
    judged: Judged, task: dict[str, Any], source: dict[str, Any], told: dict[str, Any], first: bool
) -> Task:
    """A visit of a flow to a task of a domain, which from now on has it among its tasks."""
    where, edf = f"hop {told['hop']}", judged.scheduler == "edf"
    require_known(told, {"hop", "jitter", "response"} | (set() if edf else WINDOW_KEYS), where)
    read_windows(told, where)
    own, period = read_task(judged.domain, task), time(source, "period", where)
    jitter, response = whole(told, "jitter", where), whole(told, "response", where)
    part = task.get("etf", 1)
    if type(part) not in (int, Decimal) or not 0 <= part <= 1:
        refuse(where, f"etf: found {part}; allowed: a number from 0 to 1")
    if first and jitter != time(source, "jitter", where, 0):
        refuse(where, "the certificate has another jitter than the source")
    if response > own.deadline or (edf and response < own.deadline):
        refuse(where, f"response {response} of a deadline {own.deadline}")
    if period == 0:
        raise LineError(f"{where}: period 0")
    least = max(1, ceil(Fraction(part) * own.cost))
    visit = Task(own.name, own.rank, own.cost, period, response, jitter, False, least)
    judged.tasks.append(visit)
    judged.told.setdefault("tasks", []).append(told)
    return visit


def read_flow(
    flow: dict[str, Any],
    rows: list[dict[str, Any]],
    judged: list[Judged],
    left_out: list[tuple[str, str | None]],
) -> tuple[list[Task], tuple[int, int] | None]:
    """Takes the visits of a flow out of the rows: those to its hops in domains with a proof.

    These are its first ones. With them come its deadline and queue, if all of it is certified.
    """
    where = f"flow {flow['name']}"
    told = taken(rows, flow["name"], "flow") or {}
    require_known(told, {"flow", "hops", "why"}, where)
    tasks = {
        hop_name(one.domain, task): (one, task) for one in judged for task in one.domain["task"]
    }
    hops, unknown = listed(flow, "hops", where), beyond_flow(flow)
    named = [row.get("hop") for row in tables(told, "hops", where)]
    known = [hop in tasks for hop in hops]
    if (
        "hops" not in told
        or named != hops[: len(named)]
        or known != [place < len(named) for place in range(len(hops))]
        or (named and unknown)
        or ("why" not in told and (not hops or not all(known)))
    ):
        refuse(where, "the certificate has not its hops in domains with a proof")
    if "why" in told:
        left_out.append((flow["name"], unknown or "not in the certificate"))
    visits = [
        read_hop(*tasks[row["hop"]], flow["source"], row, first=not place)
        for place, row in enumerate(listed(told, "hops", where))
    ]
    limits = time(flow, "deadline", where), whole(flow, "queue", where, 1)
    return visits, None if "why" in told else limits


def read_names(flows: list[dict[str, Any]], domains: list[dict[str, Any]]) -> list[str]:
    """Returns the hops of all flows; FileError if a name is given twice."""
    hops = [
        text({"hop": hop}, "hop", "flow") for one in flows for hop in listed(one, "hops", "flow")
    ]
    tasks = [hop_name(one, task) for one in domains for task in tables(one, "task", "domain")]
    for names in (
        [text(one, "name", "domain") for one in domains],
        [text(one, "name", "flow") for one in flows],
        [name for name in tasks if name in hops],
    ):
        if len(set(names)) < len(names):
            refuse("system", "a domain, a flow or a hop is given twice")
    return hops


def is_best_effort(domain: dict[str, Any]) -> bool:
    value = domain.get("best_effort", False)
    if not isinstance(value, bool):
        refuse(str(domain.get("name")), "best_effort: true or false")
    return bool(value)


def policy_name(system: dict[str, Any]) -> str:
    """Returns the name of the policy, or of a table its rules, joined."""
    given = system.get("policy")
    if not isinstance(given, dict):
        return text(system, "policy", "system")
    require_known(given, {"budget", "order", "slack", "scope"}, "policy")
    its = {"slack": "none", "scope": "partitioned"} | given
    return "+".join(text(its, key, "policy") for key in ("budget", "order", "slack", "scope"))


def check(system: dict[str, Any], certificate: dict[str, Any]) -> tuple[int, str]:
    """Returns exit code and line; LineError for what does not hold, FileError for a bad file."""
    keys = {"name", "description", "policy", "pcpus", "quantum", "sbf", "spare", "domain", "flow"}
    require_known(system, keys, "system")
    pcpus = whole(system, "pcpus", "system", 1)
    policy = policy_name(system)
    rules = POLICIES.get(policy) or (ON_ONE.get(policy) if pcpus == 1 else None)
    if rules is None:
        refuse("system", f"policy {policy}: not known to this checker")
    budget_rule, order = rules
    domains = tables(system, "domain", "system")
    flows = tables(system, "flow", "system")
    hops = read_names(flows, domains)
    proofs = Proofs.of(certificate, text(system, "name", "system"))
    by_priority = any("priority" in one for one in domains if not is_best_effort(one))

    sharing: dict[int, list[tuple[Task, dict[str, Any]]]] = {}
    judged: list[Judged] = []
    left_out: list[tuple[str, str | None]] = []
    for domain in domains:
        name = domain["name"]
        proof, gap = taken(proofs.domains, name), taken(proofs.not_certified, name)
        if (proof is None) == (gap is None):
            refuse("certificate", f"{name}: either certified or not certified")
        if is_best_effort(domain):
            if proof is not None:
                refuse("certificate", f"{name}: best effort belongs to what is not certified")
            left_out.append((name, None))
            continue
        require_known(domain, SERVER_KEYS | {"guest", "task"}, name)
        if not proofs.servers:
            refuse("certificate", f"no server for {name}")
        told = proofs.servers.pop(0)
        server, pcpu = read_server(domain, told, by_priority, pcpus)
        why = beyond(domain, hops) or ("not in the certificate" if proof is None else "")
        sharing.setdefault(pcpu, []).append((server, {**told, "needed": not why}))
        if proof is None or why:
            left_out.append((name, why))
        else:
            judged.append(read_judged(domain, hops, server, budget_rule, proof))
    ways = [read_flow(one, proofs.flows, judged, left_out) for one in flows]
    if any(proofs):
        refuse("certificate", "it speaks of more than the system's domains and flows, each once")

    for rows in sharing.values():
        require_budgets([one for one, _ in rows], budget_rule, order, [its for _, its in rows])
    for one in judged:
        one.require()
    for way, limits in ways:
        require_flow(way, limits)
    proved = [limits for _, limits in ways if limits is not None]
    tasks = sum(len(one.domain["task"]) for one in judged)
    return answer(tasks, len(judged), len(proved), left_out)


def answer(
    tasks: int, domains: int, flows: int, left_out: list[tuple[str, str | None]]
) -> tuple[int, str]:
    """Returns exit code and line; what is left out without a reason is best effort."""
    complete = all(why is None for _, why in left_out)
    line = f"{'proved' if complete else 'proved in part'}: {counted(tasks, 'task')} of"
    line += f" {counted(domains, 'domain')}"
    if flows:
        line += f", {counted(flows, 'flow')}"
    if left_out:
        line += "; not certified: " + ", ".join(
            f"{name} ({'best effort' if why is None else why})" for name, why in left_out
        )
    return (0 if complete else 1), line


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuses a key of JSON that is given twice, of which one would be silent."""
    if len(dict(pairs)) < len(pairs):
        raise FileError("certificate: a key is given twice")
    return dict(pairs)


def no_number(found: str) -> NoReturn:
    raise FileError(f"certificate: found {found}; allowed: whole numbers")


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print("usage: second_reader.py SYSTEM CERTIFICATE", file=sys.stderr)
        return 2
    try:
        text_of_system = Path(arguments[0]).read_text(encoding="utf-8")
        system = tomllib.loads(text_of_system, parse_float=Decimal)
        certificate = json.loads(
            Path(arguments[1]).read_text(encoding="utf-8"),
            object_pairs_hook=unique,
            parse_float=no_number,
            parse_constant=no_number,
        )
        if not isinstance(certificate, dict):
            raise FileError("certificate: no object")
        code, line = check(system, certificate)
    except LineError as error:
        code, line = 1, f"not proved: {error}"
    except (FileError, OSError, ValueError, RecursionError) as error:
        print(error, file=sys.stderr)
        return 2
    print(line)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
