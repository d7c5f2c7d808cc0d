# SPDX-License-Identifier: BSD-2-Clause
"""`make proofs`: Coq accepts the theorems, none of falsehoods, and pages and code name real ones.

The definitions that the theorems are about compute what the analysis computes (`supply_bound`,
`request_bound`, `demand_bound`), on all small servers and on drawn tasks: Coq is asked. So it is
whether drawn deferrable servers pass their tests, which budgets serve drawn tasks, how long parts
of drawn slices take, what is known of drawn servers, for the accounts that constant bandwidth
servers and slices have in the naive models, and whether drawn hops keep their bounds.

A falsehood is a copy of the files in which one definition says what is not so, as the floor that
the paper prints in place of the ceiling. A copy in which a claim is not proved is refused as well.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterable, Iterator
from itertools import chain
from math import lcm
from pathlib import Path

import pytest
from tests.model_naive.model import Params, Policy, Setup, Spare
from tests.model_naive.slices import Slice
from tests.model_naive.slices import Vcpu as SliceVcpu
from tests.model_naive.slices import World as SliceWorld
from tests.model_naive.workload import Run
from tests.support.flow_attack import analysis_of
from tests.support.worlds import domain, event, flow, system, task
from tools.check_theorems import LIBRARY, SOURCES, NotProved, build, check, coq, main, theorems

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Component, Load, NamedLoad
from hyperperiod.analysis.domains.minimal_budget import minimal_budget
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.driver_loop.driver_domain import (
    PlacedPlant,
    Plant,
    Service,
    slice_response,
)
from hyperperiod.analysis.flows.busy_window import busy_window
from hyperperiod.analysis.flows.found import FlowAnalysis
from hyperperiod.analysis.flows.responses import kept_demand
from hyperperiod.analysis.flows.windows import Inside, bound_of, hop_witness
from hyperperiod.analysis.proofs import REFINEMENT_THEOREMS, SERVER_THEOREMS, THEOREMS
from hyperperiod.analysis.servers.deferrable_edf import deferrable_edf
from hyperperiod.analysis.servers.deferrable_fp import deferrable_fp
from hyperperiod.analysis.servers.deferrable_grid import deferrable_grid
from hyperperiod.analysis.servers.known_servers import known_supply
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.servers.server_table import NOT_GUARANTEED
from hyperperiod.analysis.tasks.demand_bound import dbf
from hyperperiod.analysis.tasks.request_bound import rbf
from hyperperiod.model import Budget, Domain, Order, Scope, System, parse_policy

PAGE = SOURCES.parent / "docs" / "analysis" / "proofs.md"
COQ = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")

pytestmark = pytest.mark.xdist_group("theorems")

Change = tuple[str, str, str]
FALSEHOODS: dict[str, Change] = {
    "supply-one-more": ("model.v", "min ((t - x) mod P) B.", "min ((t - x) mod P) B + 1."),
    "blackout-one-less": ("model.v", "(P - B) + (D - B).", "(P - B) + (D - B) - 1."),
    "ties-cost-nothing": (
        "model.v",
        "if rank h <=? rank i",
        "if (if h =? i then true else rank h <? rank i)",
    ),
    "ertds-with-one-less": ("refuted.v", "two_servers 11 6 7 3", "two_servers 11 5 7 3"),
    "csa-lemma-2-without-lending": ("refuted.v", "sharing Lend servers", "sharing Idle servers"),
    "cbs-renewed-too-late": ("cbs.v", "<? left its * every one", "<? left its * every one - 1"),
    "cbs-without-a-bound-for-breaks": ("refuted.v", "0, 5, 9.", "0, 5, 6."),
    "psedf-with-one-less": ("refuted.v", "two_servers 6 2 12 3", "two_servers 6 1 12 3"),
    "psedf-way-with-more-slice": ("refuted.v", "two_servers 3 1 4 2", "two_servers 3 2 4 2"),
    "slices-begun-early": ("slices.v", "until before <=? x)", "until before <=? x + 1)"),
    "overheads-without-debts": ("overheads.v", "(m + 1) * C.", "C."),
    "hops-without-spread": ("flows.v", "jitter (member o) + W <=", "jitter (member o) <="),
    "flow-without-its-last-piece": ("flows.v", "way o r (V + W).", "way o r V."),
    "known-away-one-less": ("known.v", "| _ => P - B", "| _ => P - B - 1"),
}
LONG_FALSEHOODS: dict[str, Change] = {
    "floor": ("model.v", "(a + b - 1) / b", "a / b"),
    "deferrable-without-jitter": ("model.v", "jitter := every one - budget one", "jitter := 0"),
    "jobs-in-any-order": ("model.v", "-> snd other <= snd j", "-> True"),
    "known-equals-behind": ("known.v", "<=? rank (servers s)", "<? rank (servers s)"),
    "known-deadline-one-sooner": ("known.v", "* Q - k * P)", "* Q - k * P - 1)"),
    "known-polling-away-two-less": ("known.v", "| Polling => P - 1", "| Polling => P - 2"),
    "known-refill-later": ("known.v", "(k * P) mod Q in", "(k * P + 1) mod Q in"),
    "known-others-at-once": ("known.v", "< c * (t - y).", "<= c * (t - y)."),
    "known-a-pcpu-left": ("known.v", "servers s x) = c.", "servers s x) = c - 1."),
    "known-tasks-by-deferrable": (
        "known_supply.v",
        "wait by_rule) -> in_time",
        "wait Deferrable) -> in_time",
    ),
    "known-table-wins-ties": (
        "known.v",
        "place by_order servers s x < place",
        "place by_order servers s x <= place",
    ),
    "known-table-saves": (
        "known.v",
        "rank (servers o) <= rank (servers s)) ->",
        "rank (servers o) < rank (servers s)) ->",
    ),
    "known-deferrable-by-table": (
        "known_table.v",
        "(forall i, i < m -> 0 < every (servers i)) -> by_rule <> Deferrable ->",
        "(forall i, i < m -> 0 < every (servers i)) ->",
    ),
    "polling-as-deferrable": ("model.v", "| Polling => late P B", "| Polling => general P B P"),
    "deferrable-window-one-shorter": (
        "model.v",
        "(budget (servers o)) 0 (every (servers s))).",
        "(budget (servers o)) 1 (every (servers s))).",
    ),
    "bandwidth-above-1": (
        "model.v",
        "every (servers i))) <= M.",
        "every (servers i))) <= M + 1.",
    ),
    "cbs-refilled-early": ("cbs.v", "(until its <=? x)", "(until its <=? x + 1)"),
    "cbs-with-breaks": (
        "cbs.v",
        "a < x < a + t -> arrives s x",
        "a + 1 < x < a + t -> arrives s x",
    ),
    "cbs-anew-too-soon": ("cbs.v", "release r j < x ->", "S (release r j) < x ->"),
    "cbs-payer-without-budget": (
        "account_runs.v",
        "working s past && (0 <? left",
        "true || (0 <? left",
    ),
    "slices-in-any-order": ("slices.v", "| ByDeadline => until (slice s x)", "| ByDeadline => x"),
    "slices-window-one-longer": (
        "slices_supply.v",
        "(exists t, t <= every (servers s) /\\",
        "(exists t, t <= every (servers s) + 1 /\\",
    ),
    "slices-kept-to-one-before": (
        "slices.v",
        "a + t <= until (slice s a) ->",
        "a + t < until (slice s a) ->",
    ),
    "slices-time-of-nobody": (
        "slices_supply.v",
        "h by_order -> sharing by_slack servers h ->",
        "h by_order ->",
    ),
    "slices-run-out-of-turn": (
        "account_runs.v",
        "ByDeadline => until its end",
        "ByDeadline => x end",
    ),
    "driver-without-a-wait": (
        "driver_loop.v",
        "every (its_server one) - budget (its_server one) + t.",
        "t.",
    ),
    "driver-passed-once": ("psedf.v", "bound i := 2 * D + late i in", "bound i := D + late i in"),
    "driver-with-longer-periods": (
        "driver_loop.v",
        "late = 2 * R /\\ P <= apart one i",
        "late = 2 * R",
    ),
    "driver-with-one-period-over": ("driver_loop.v", "then P else 2 * P", "then P else P"),
    "driver-with-packets-too-close": (
        "psedf.v",
        "(forall i, i < flows one -> bound i <= apart one i) ->\n  forall i k",
        "forall i k",
    ),
    "least-of-two-fails": ("least.v", "(1 < k -> ~ passes (k - 1))", "(2 < k -> ~ passes (k - 2))"),
    "more-budget-sooner": (
        "least.v",
        "0 < B <= C -> C <= D ->",
        "0 < C <= B -> B <= D ->",
    ),
    "period-bound-lower": ("least.v", "* P <= N * M * t.\nProof.", "* P < N * M * t.\nProof."),
    "paid-without-budget": (
        "model.v",
        "unspent servers h s x /\\\n  match",
        "True /\\\n  match",
    ),
    "polling-with-budget-kept": (
        "model.v",
        "throughout (wants h s) (x / P * P) (S (x mod P))",
        "wants h s x",
    ),
    "deferrable-as-periodic": (
        "host.v",
        "(forall i, i < m -> 0 < every (servers i)) -> by_rule <> Deferrable ->",
        "(forall i, i < m -> 0 < every (servers i)) ->",
    ),
    "deferrable-window-one-longer": (
        "deferrable.v",
        "(exists t, t <= every (servers s) /\\",
        "(exists t, t <= every (servers s) + 1 /\\",
    ),
    "polling-in-time-by-harmonic": ("host.v", "(by_rule <> Polling /\\ ", "(True /\\ "),
    "harmonic-out-of-phase": ("model.v", "= k * period (tasks i).", "= 1 + k * period (tasks i)."),
    "jobs-one-fewer": ("model.v", "forall q, 0 < q <= ceiling", "forall q, 0 < q < ceiling"),
    "jobs-without-jitter": ("model.v", "period own - jitter own +", "period own +"),
    "job-before-its-work": ("model.v", "(if h =? i then q else", "(if h =? i then q - 1 else"),
    "jobs-beyond-the-level": ("model.v", "rbf n tasks rank i L <= bound L /\\", "True /\\"),
    "jobs-not-counted": ("check.v", "(length windows) =? come", "(length windows) <=? come"),
    "jobs-one-later": (
        "check.v",
        "let most := (q - 1) * r_period",
        "let most := q * r_period",
    ),
    "deadline-behind-period": (
        "model.v",
        "+ jitter (tasks i) <= period (tasks i).",
        "<= deadline (tasks i).",
    ),
    "lower-goes-first": ("model.v", "key other <= key j", "key j <= key other"),
    "lower-pays-first": (
        "model.v",
        "place by_order servers other x <= place by_order servers s x",
        "place by_order servers s x <= place by_order servers other x",
    ),
    "budget-one-more": (
        "model.v",
        "(x mod P) < budget (servers s).",
        "(x mod P) <= budget (servers s).",
    ),
    "lent-without-budget": (
        "model.v",
        "pays h x <> Some s /\\ unspent servers h s x).",
        "pays h x <> Some s).",
    ),
    "reclaimed-time-of-all": ("model.v", "wants h s x -> has h x = Some s) /\\", "True) /\\"),
    "windows-of-servers-not-needed": ("check.v", "if t =? 0 then", "if false then"),
    "point-one-further": (
        "check.v",
        "points_fail rows P B x (s - 1) rest",
        "points_fail rows P B x (s - 2) rest",
    ),
    "horizon-without-blackout": ("check.v", "(M + x <=? L) &&", "(M <=? L) &&"),
    "line-one-period-lower": (
        "check.v",
        "+ r_jitter one + r_period one)) rows.",
        "+ r_jitter one)) rows.",
    ),
    "sum-above-1": ("check.v", "servers <=? all then None", "servers <=? all + 1 then None"),
    "grid-one-refill": ("model.v", "(ceiling (budget one) g * g) t).", "(budget one / g * g) t)."),
    "grid-step-too-long": ("model.v", "Nat.gcd P (every one)", "every one"),
    "grid-window-above-the-period": ("check.v", "if r_period own <? t", "if r_period own + 1 <? t"),
    "grid-without-own-budget": ("check.v", "+ r_cost own - grid_spent", "- grid_spent"),
    "spent-above-the-period": (
        "check.v",
        "if spent <=? r_period own",
        "if spent <=? 1 + r_period own",
    ),
    "polling-checked-as-periodic": (
        "check.v",
        "| General, Periods Polling _ => P + (P - B)",
        "| General, Periods Polling _ => P - B + (P - B)",
    ),
    "polling-checked-by-harmonic": (
        "check.v",
        "| Harmonic, Periods Polling _ | Harmonic, Bandwidth =>",
        "| Harmonic, Bandwidth =>",
    ),
    "cbs-checked-by-harmonic": (
        "check.v",
        "| Harmonic, Periods Polling _ | Harmonic, Bandwidth =>",
        "| Harmonic, Periods Polling _ =>",
    ),
    "cbs-checked-in-any-run": (
        "system.v",
        "judged (fun s => anew arrives s (domain_of (nth s vms no_vm)) (inner s))",
        "judged (fun s => True)",
    ),
    "hops-checked-without-responses": (
        "check.v",
        "r_jitter its + r_deadline its - r_least its",
        "r_jitter its",
    ),
    "hops-checked-with-least-twice": (
        "check.v",
        "+ r_deadline its - r_least its",
        "+ r_deadline its - 2 * r_least its",
    ),
    "hops-checked-from-anywhere": ("check.v", "same_place q before && linked", "linked"),
    "hops-checked-in-any-run": (
        "system.v",
        "(fun p => r_before (row_at sys p)) (fun",
        "(fun _ => None) (fun",
    ),
    "flow-checked-one-later": ("check.v", "if f_deadline one <?", "if 1 + f_deadline one <?"),
    "flow-checked-without-jitter": ("check.v", "1 bound + r_jitter source", "1 bound"),
    "flow-checked-from-the-middle": (
        "check.v",
        "match r_before its with None => true | Some _ => false end",
        "true",
    ),
    "flow-checked-by-its-last-hop": (
        "check.v",
        "(row_at sys p)) (f_hops one) in",
        "(row_at sys p)) (firstn 1 (f_hops one)) in",
    ),
    "harmonic-with-jitter": ("check.v", "(r_jitter (snd one) =? 0)", "true"),
    "decided-without-budget": ("laws.v", "(s <? m) && may s", "(s <? m)"),
    "decided-without-work": (
        "laws.v",
        "| Deferrable => works x past not_judged s",
        "| Deferrable => true",
    ),
    "decided-with-lost-budget": ("laws.v", " && worked s (x mod every (servers s)) past", ""),
    "decided-behind-payers": ("laws.v", "Behind => negb (some (payer one))", "Behind => true"),
    "decided-lent-without-budget": (
        "laws.v",
        "negb (here s (payer one)) && has_budget s",
        "negb (here s (payer one))",
    ),
    "decided-without-equals": (
        "laws.v",
        "place by_order servers other x <=? place by_order servers s x",
        "place by_order servers other x <? place by_order servers s x",
    ),
    "decided-any-job": ("laws.v", "key_of s j <=? key_of s first", "true"),
    "decided-out-of-turn": ("laws.v", "snd j <=? snd first", "true"),
    "decided-too-late": ("laws.v", "arrives one + jitter T)", "arrives one + jitter T + 1)"),
    "decided-without-offset": ("laws.v", "(released_at one =? from)", "true"),
    "debts-forgiven": (
        "overheads.v",
        "debt one paid j + amount paid (j * every one) (every one) - budget one",
        "0",
    ),
    "overhead-window-behind-the-period": (
        "overhead_servers.v",
        "(exists t, 0 < t <= within (servers s) /\\",
        "(exists t, 0 < t <= 2 * within (servers s) /\\",
    ),
    "overhead-demand-of-two-periods": (
        "overhead_servers.v",
        "(forall t, every (servers s) <= t ->",
        "(forall t, 2 * every (servers s) <= t ->",
    ),
    "overhead-deferrable-window-behind-the-period": (
        "overhead_deferrable.v",
        "(exists t, t <= every (servers s) /\\",
        "(exists t, t <= 2 * every (servers s) /\\",
    ),
    "overhead-deferrable-twice-the-period": (
        "overhead_deferrable.v",
        "beside_budgets m C <= every (servers s) ->",
        "beside_budgets m C <= 2 * every (servers s) ->",
    ),
    "debt-one-less": ("overhead_servers.v", "(charged h s) k < C.", "(charged h s) k + 1 < C."),
    "no-pick-in-progress": ("overheads.v", "2 * C + fixed +", "C + fixed +"),
    "overhead-arrivals-of-servers-only": (
        "overhead_supply.v",
        "(forall k, happens (m + best) (others arrives s) (k * P) P <= W) ->\n  let left",
        "(forall k, happens m (others arrives s) (k * P) P <= W) ->\n  let left",
    ),
    "overhead-turns-of-servers": ("overheads.v", "(m <= o \\/ ~ wants", "(m <= S o \\/ ~ wants"),
    "overhead-arrivals-without-jitter": (
        "overheads.v",
        "ceiling (t + jitter (members d i))",
        "ceiling t",
    ),
    "overheads-with-breaks": (
        "overhead_supply.v",
        "inside_beside v h s d r -> anew arrives s d r ->",
        "inside_beside v h s d r ->",
    ),
    "overheads-of-loans-not-counted": (
        "overhead_supply.v",
        "by_slack v h -> by_slack <> Lend ->",
        "by_slack v h ->",
    ),
    "hops-on-polling-as-periodic": (
        "flow_bounds.v",
        "sbf (P s) (B s) (blackout (P s) (B s) (D s) (by_rule s))",
        "sbf (P s) (B s) (general (P s) (B s) (D s))",
    ),
    "hops-of-domains-that-fail": ("flows.v", " /\\ fits d (bound (fst q)))", " /\\ True)"),
    "in-and-out-with-less-budget": ("flow_bounds.v", "then 4 else 5 in", "then 3 else 5 in"),
    "hops-that-dawdle": ("flows.v", "exists y, x = S y /\\ runs", "exists y, S y <= x /\\ runs"),
    "hops-ahead-of-their-items": (
        "flows.v",
        "comes ends p k.",
        "comes (fun r j x => release r j <= x) p k.",
    ),
    "hops-beyond-the-horizon": (
        "flow_runs.v",
        "forall x, x <= H -> ends",
        "forall x, x <= S H -> ends",
    ),
    "hops-with-least-twice": ("flows.v", "(member p) + c.", "(member p) + 2 * c."),
    "rows-with-open-windows": ("flows.v", "i (S W) <= bound", "i W <= bound"),
    "rows-across-breaks": ("flows.v", "(forall x, arrives (fst q) x = false)", "True"),
    "rows-with-lower-hops": (
        "flows.v",
        "<= levels (domains s) i ->\n    row s i o p",
        "<= 1 + levels (domains s) i ->\n    row s i o p",
    ),
    "hops-across-breaks-too-early": (
        "flows.v",
        "a < x < a + t -> arrives s x",
        "a <= x < a + t -> arrives s x",
    ),
}
UNPROVED: dict[str, Change] = {
    "left-out": ("tasks.v", "now apply server_supply.\nQed.", "Admitted."),
    "axiom": ("supply.v", "Lemma quotient P n y :", "Axiom quotient : forall P n y,"),
}


@pytest.fixture(scope="session")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files, compiled and found to assume nothing."""
    folder = tmp_path_factory.mktemp("theorems")
    assert check(SOURCES, folder) == theorems(SOURCES)
    return folder


def falsified(original: Path, folder: Path, file: str, old: str, new: str) -> Path:
    """A copy of the files with one place changed in one of them."""
    shutil.copytree(original, folder)
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    return folder


@COQ
def test_all_theorems_are_proved(proved: Path) -> None:
    assert {file.stem for file in proved.glob("*.vo")} >= set(theorems(SOURCES).values())


def supply_claims() -> Iterator[str]:
    """The bounds of all servers with periods up to 6, in all shapes, for windows below 25."""
    for period in range(1, 7):
        for budget in range(1, period + 1):
            pair = f"{period} {budget}"
            shapes = [
                (f"general {pair} {deadline}", Supply(Shape.GENERAL, period, budget, deadline))
                for deadline in range(budget, period + 1)
            ]
            shapes.append((f"harmonic {pair}", Supply(Shape.HARMONIC, period, budget)))
            shapes.append((f"late {pair}", Supply(Shape.POLLING, period, budget)))
            for blackout, supply in shapes:
                bounds = "; ".join(str(supply.sbf(window)) for window in range(25))
                yield f"map (sbf {pair} ({blackout})) (seq 0 25) = [{bounds}]"


def task_claims() -> Iterator[str]:
    """The bounds of 100 drawn sets of three tasks, for windows of 1 to 30 (dbf: from 0 on)."""
    rng = random.Random(20261127)
    for _ in range(100):
        loads = [
            Load(rng.randint(1, 5), rng.randint(1, 12), rng.randint(1, 15), rng.randint(0, 6))
            for _ in range(3)
        ]
        records = "; ".join(
            f"Build_task {load.wcet} {load.period} {load.deadline} {load.jitter}" for load in loads
        )
        tasks = f"(fun i => nth i [{records}] (Build_task 0 1 1 0))"
        requests = "; ".join(str(rbf(loads, window)) for window in range(1, 31))
        demands = "; ".join(str(dbf(loads, window)) for window in range(31))
        yield f"map (rbf 3 {tasks} (fun i => i) 2) (seq 1 30) = [{requests}]"
        yield f"map (dbf 3 {tasks}) (seq 0 31) = [{demands}]"


def in_coqs_words(servers: Iterable[Server]) -> str:
    """Returns the servers as Coq's `s`, before a claim about them."""
    records = "; ".join(
        f"Build_server {one.period_ns} {one.budget_ns} {one.period_ns} {one.priority}"
        for one in servers
    )
    return f"let s i := nth i [{records}] (Build_server 1 1 1 0) in"


def server_claims() -> Iterator[str]:
    """Whether each of three deferrable servers on a pcpu passes its test, 100 times."""
    rng = random.Random(20261128)
    for _ in range(100):
        servers = [
            Server(place, f"vm{place}", period, rng.randint(1, period // 2), rng.randint(0, 2))
            for place, period in enumerate(rng.choices(range(2, 25), k=3))
        ]
        drawn = in_coqs_words(servers)
        by_rank = (
            "fun i => existsb (fun t => Nat.leb (job_rbf 3 (fun o => as_deferrable (s o))"
            " (fun o => rank (s o)) i 1 t) t) (seq 1 (every (s i)))"
        )
        on_grid = "fun i => existsb (fun t => Nat.leb (grid_rbf 3 s i t) t) (seq 1 (every (s i)))"
        by_deadline = "fun i => Nat.leb (edf_spends 3 s i) (every (s i))"
        for test, judge in (
            (by_rank, deferrable_fp),
            (on_grid, deferrable_grid),
            (by_deadline, deferrable_edf),
        ):
            said = "; ".join(str(one.holds is True).lower() for one in judge(Group(tuple(servers))))
            yield f"{drawn} map ({test}) (seq 0 3) = [{said}]"


def response_claims() -> Iterator[str]:
    """The time that a part of each of three slices takes with it at hand; 0: more than a period.

    The plant of the packets is on another pcpu.
    """
    rng = random.Random(20261202)
    apart = Server(3, "apart", 9, 3, 0)
    plant = Plant((Service("apart", 9, 9, 1),), 1, 1)
    for _ in range(60):
        servers = tuple(
            Server(
                place, f"vm{place}", period, rng.randint(1, (period + 3) // 4), rng.randint(0, 2)
            )
            for place, period in enumerate(rng.choices(range(2, 25), k=3))
        )
        records = "; ".join(
            f"Build_server {one.period_ns} {one.budget_ns} {one.period_ns} {one.priority}"
            for one in servers
        )
        group, own = Group(servers), rng.choice(servers)
        part = rng.randint(1, own.budget_ns)
        placed = PlacedPlant(plant, own, group, ((apart, Group((apart,))),))
        found = slice_response(placed, own, group, part).bound_ns or 0
        yield (
            f"let s i := nth i [{records}] (Build_server 1 1 1 0) in"
            f" hd 0 (filter (fun t => Nat.leb ({part} + job_rbf 3 (fun o => as_deferrable (s o))"
            f" (fun o => rank (s o)) {own.order} 0 t) t) (seq 1 {own.period_ns})) = {found}"
        )


def budget_claims() -> Iterator[str]:
    """Which budgets of a period serve two drawn tasks, 60 times: the least and those above it.

    Under EDF windows below 240 are looked at, where no period is above 12 and all divide 24.
    """
    rng = random.Random(20261130)
    for local in (Local.FIXED_PRIORITY, Local.EDF) * 30:
        loads = [
            Load(rng.randint(1, 2), period, rng.randint(period // 2, period))
            for period in rng.choices((4, 6, 8, 12), k=2)
        ]
        records = "; ".join(
            f"Build_task {load.wcet} {load.period} {load.deadline} 0" for load in loads
        )
        drawn = f"let T i := nth i [{records}] (Build_task 0 1 1 0) in"
        component = Component(local, tuple(NamedLoad("task", load) for load in loads))
        period = rng.choice((2, 3, 4, 6))
        for shape, blackout in (
            (Shape.GENERAL, f"(general {period} B {period})"),
            (Shape.HARMONIC, f"(harmonic {period} B)"),
            (Shape.POLLING, f"(late {period} B)"),
        ):
            fits = f"t) (sbf {period} B {blackout} t))"
            passes = (
                f"forallb (fun t => Nat.leb (dbf 2 T {fits} (seq 0 240)"
                if local is Local.EDF
                else f"forallb (fun i => existsb (fun t => Nat.leb (rbf 2 T (fun i => i) i {fits}"
                " (seq 1 (deadline (T i)))) (seq 0 2)"
            )
            least = minimal_budget([component], shape, period).budget_ns or period + 1
            said = "; ".join(str(budget >= least).lower() for budget in range(1, period + 1))
            yield f"{drawn} map (fun B => {passes}) (seq 1 {period}) = [{said}]"


KNOWN_RULES = (
    *("polling+fp", "polling+edf", "periodic+fp+lend", "periodic+edf+lend"),
    *("deferrable+fp", "deferrable+edf", "deferrable+fp+global", "periodic+edf+global"),
)
KNOWN = """
Section Known.
Context (by_rule : rule) (c m : nat) (s : nat -> server) (by_order : order) (own M : nat).
Context (table : list (option nat)).
Let h := rounds M (fun x => nth x table None).
Let P := every (s own).
Let B := budget (s own).
Definition has o x :=
  amount (charged h o) (x / every (s o) * every (s o)) (x mod every (s o)) <? budget (s o).
Definition right := match table with [] => true | _ => forallb (fun x =>
  match pays h x with
  | None => forallb (fun o => negb (has o x)) (seq 0 m)
  | Some p => has p x && forallb (fun o => (o =? p) || negb (has o x) ||
      ((if p =? own then S else id) (place by_order s p x) <=? place by_order s o x)) (seq 0 m)
  end) (seq 0 M) end.
Definition loses o :=
  existsb (fun k => amount (charged h o) (k * every (s o)) (every (s o)) <? budget (s o))
    (seq 0 (M / every (s o))).
Definition equals o := length (filter (fun i => negb (i =? own) && (rank (s i) =? rank (s o)) &&
  (rank (s i) <=? rank (s own))) (seq 0 m)).
Definition saved := existsb (fun o => negb (o =? own) && loses o &&
  match by_order with ByRank => 1 <? equals o | ByDeadline => true end) (seq 0 m).
Definition waits (got : nat -> nat -> nat -> bool) := map (fun y => fold_right max 0 (map (fun k =>
  hd (S P) (filter (got k y) (seq 0 (S P))) - S y) (seq 0 (M / P)))) (seq 0 B).
Definition known := if match table with [] => true | _ => saved end
  then waits (fun k y t => ahead m s by_order own k t (t - y) <? c * (t - y))
  else waits (fun k y t => S y <=? amount (charged h own) (k * P) t).
Definition verdict := (right, last known 0 <=? P - B).
Definition stairs := let found := known in
  map (staircase P B (fun y => nth y found 0) by_rule) (seq 0 30).
End Known.
"""
"""What is waited for in Coq's words, the least, by a table or by interference as the program does.

Whether a table is one (`right`), and whether it is none for want of what equals lose (`saved`).
An empty table is none.
"""


def table_for(servers: Iterable[Server], order: Order, loser: Server) -> Iterator[str]:
    """Who pays at each instant of a hyperperiod, in Coq's words: one of them loses all ties."""
    left: dict[Server, int] = {}
    for now in range(lcm(*(one.period_ns for one in servers))):
        left |= {one: one.budget_ns for one in servers if now % one.period_ns == 0}
        keys = [
            (
                one.priority if order is Order.FP else one.period_ns - now % one.period_ns,
                one is loser,
            )
            for one in servers
        ]
        payer = min(
            (one for one in servers if left[one]), key=lambda one: keys[one.order], default=None
        )
        if payer is not None:
            left[payer] -= 1
        yield "None" if payer is None else f"Some {payer.order}"


def known_groups(pcpus: Iterable[int]) -> Iterator[Group]:
    """Groups of up to four servers, the first with an equal that loses some of its budget."""
    rng = random.Random(20261201)
    drawn = [(12, 2, 0), (12, 1, 0), (2, 1, 0)]
    for count in pcpus:
        servers = [Server(i, f"vm{i}", *one, i) for i, one in enumerate(drawn)]
        while (group := Group(tuple(servers), count)).overloaded:
            _ = servers.pop()
        yield group
        periods = rng.choices((2, 3, 4, 5, 6, 8, 10, 12), k=rng.randint(2, 4))
        drawn = [(one, rng.randint(1, (one + 1) // 2), rng.randint(0, 1)) for one in periods]


def known_claims() -> Iterator[str]:
    """What is known of servers on one or two pcpus, 64 times.

    That is of each whether its budget comes in time, and the staircase for windows below 30. On two
    pcpus the program is on the safe side: Coq's staircase is nowhere lower.
    """
    policies = 8 * [*map(parse_policy, KNOWN_RULES)]
    pcpus = [2 if policy.scope is Scope.GLOBAL else 1 for policy in policies]
    for policy, group in zip(policies, known_groups(pcpus), strict=True):
        order = "ByRank" if policy.order is Order.FP else "ByDeadline"
        for number, one in enumerate(group.servers):
            table = [*table_for(group.servers, policy.order, one)]
            rounds = len(table)
            if policy.budget is Budget.DEFERRABLE or group.pcpus > 1:
                table = []
            drawn = f"{in_coqs_words(group.servers)} let table := [{'; '.join(table)}] in"
            system = f"{group.pcpus} {len(group.servers)} s {order} {number} {rounds} table"
            stairs = f"stairs {policy.budget.capitalize()} {system}"
            known = known_supply(policy, group, number)
            assert known is not None
            if known.refused:
                assert known.refused == NOT_GUARANTEED
                if group.pcpus == 1:
                    yield f"{drawn} verdict {system} = (true, false)"
            for supply in known.supplies:
                bounds = f"[{'; '.join(str(supply.sbf(window)) for window in range(30))}]"
                if group.pcpus > 1:
                    stairs = (
                        f"map (fun two => min (fst two) (snd two)) (combine ({stairs}) {bounds})"
                    )
                yield f"{drawn} (verdict {system}, {stairs}) = ((true, true), {bounds})"


def cbs_claims() -> Iterator[str]:
    """The accounts of two or three constant bandwidth servers in 100 worlds of a naive model.

    Who pays there is asserted to be one with work, budget and the earliest deadline of these.
    """
    rng = random.Random(20261129)
    for _ in range(100):
        periods = rng.choices(range(2, 9), k=rng.randint(2, 3))
        servers = [Params(period, rng.randint(1, period)) for period in periods]
        run = Run(Setup(Policy("cbs", "edf")), servers)
        rows: list[tuple[list[int], int | Spare | None, list[str]]] = []
        for now in range(30):
            _ = run.finish_tick() if now else run.begin()
            woken = run.arrive(rng.choices((0, 0, 1, 1, 2, 5), k=len(servers)))
            payer = run.world.decide()[0].pay
            vcpus = [run.world.vcpus[v] for v in range(len(servers))]
            ready = [v for v, units in enumerate(run.backlog) if units and vcpus[v].remaining]
            soonest = min((vcpus[v].deadline for v in ready), default=None)
            assert payer in [v for v in ready if vcpus[v].deadline == soonest] or not ready
            assert ready or payer is None
            rows.append((woken, payer, [f"{one.remaining} {one.deadline}" for one in vcpus]))
        for v, own in enumerate(servers):
            arrives = "; ".join(str(v in woken).lower() for woken, _, _ in rows)
            paid = "; ".join(str(v == payer).lower() for _, payer, _ in rows)
            kept = "; ".join(f"Build_account {accounts[v]}" for _, _, accounts in rows)
            server = f"(Build_server {own.period} {own.budget} {own.period} 0)"
            at = " ".join(f"(fun x => nth x [{row}] false)" for row in (arrives, paid))
            yield f"map (cbs_of {server} {at}) (seq 0 30) = [{kept}]"


def slice_claims() -> Iterator[str]:
    """The accounts of one to three slice servers in 200 worlds of a naive model, by either order.

    Under fixed priority there may be one more, an ordinary one that pays behind them. Who pays is
    asserted to be the first of those with work and some of their slice.
    """
    rng = random.Random(20261201)
    for order in ("edf", "fp") * 100:
        vcpus = [
            Slice(period, rng.randint(1, period), rng.randint(0, 2), extra=rng.random() < 0.5)
            for period in rng.choices(range(2, 9), k=rng.randint(1, 3))
        ]
        ranks = [one.priority or 0 for one in vcpus]
        judged = range(len(vcpus))
        if order == "fp" and rng.random() < 0.5:
            vcpus.append(Slice(rng.randint(2, 8), 2))
        world = SliceWorld(vcpus, "classes" if order == "fp" else "keep", order, booted=True)
        backlog = [0] * len(vcpus)
        rows: list[tuple[list[bool], int | None, list[tuple[int, int]]]] = []
        for now in range(30):
            if now:
                pass_tick(world, backlog)
            for v, units in enumerate(rng.choices((0, 0, 1, 1, 2, 5), k=len(vcpus))):
                if units and not backlog[v]:
                    world.wake(v)
                backlog[v] += units
            runs = world.decide()
            payer = None if world.in_extra else runs
            accounts = [slice_account(world.vcpus[v], now) for v in judged]
            ready = [v for v in judged if backlog[v] and accounts[v][0]]
            turns = [ranks[v] if order == "fp" else accounts[v][1] for v in ready]
            first = {v for v, turn in zip(ready, turns, strict=True) if turn == min(turns)}
            assert payer in first if ready else payer in (None, *range(len(judged), len(vcpus)))
            rows.append(([backlog[v] > 0 for v in judged], payer, accounts))
        for v in judged:
            works = "; ".join(str(working[v]).lower() for working, _, _ in rows)
            paid = "; ".join(str(v == payer).lower() for _, payer, _ in rows)
            kept = "; ".join("Build_account {} {}".format(*accounts[v]) for _, _, accounts in rows)
            server = f"(Build_server {vcpus[v].period} {vcpus[v].slice} {vcpus[v].period} 0)"
            at = " ".join(f"(fun x => nth x [{row}] false)" for row in (works, paid))
            yield f"map (slice_of {server} {at}) (seq 0 30) = [{kept}]"


def pass_tick(world: SliceWorld, backlog: list[int]) -> None:
    """A tick passes in the world; who ran in it has a unit less to do, and blocks without any."""
    runs = world.runs
    world.elapse()
    if runs is not None:
        backlog[runs] -= 1
        if not backlog[runs]:
            world.block(runs)


def slice_account(vcpu: SliceVcpu, now: int) -> tuple[int, int]:
    """Returns what is left of a slice, and its deadline; of one that waits for a period, its begin.

    The naive model looks at a period that is over, of a vcpu with work that waits for others, only
    when it decides again: it is caught up here.
    """
    if vcpu.begin > now:
        return 0, vcpu.begin
    late = now - vcpu.deadline
    if vcpu.work and late >= 0:
        return vcpu.params.slice, vcpu.deadline + (
            late // vcpu.params.period + 1
        ) * vcpu.params.period
    return vcpu.params.slice - vcpu.used, vcpu.deadline


def draw_domain_of_hops(rng: random.Random, number: int) -> Domain:
    """One to three tasks, hops among them, on a server that has a third of its pcpu at least."""
    tasks = []
    for place in range(rng.randint(1, 3)):
        period = rng.randint(12, 30)
        hop = place == 0 or rng.random() < 0.5
        own = {"kind": "event", "etf": rng.choice((1.0, 0.5))} if hop else {"jitter": 5}
        work, deadline = rng.randint(1, 4), rng.randint(8, 40)
        tasks.append(task(f"t{place}", period, work, deadline=deadline, **own))
    period = rng.randint(4, 12)
    given = (rng.randint(-(-period // 3), period), period)
    scheduler = rng.choice(("rm", "dm", "edf"))
    return domain(f"d{number}", given, *tasks, scheduler=scheduler, pcpu=number)


def draw_chains(rng: random.Random) -> System:
    """Flows through two or three domains, of which the analysis knows no more than the theorem.

    Hops follow one another only under EDF, each is visited once, queues are long, and slack may
    bring a domain through its work without gaps.
    """
    domains = [draw_domain_of_hops(rng, number) for number in range(rng.choice((2, 3)))]
    hops = [
        (one, f"{one.name}.{inside.name}")
        for one in domains
        for inside in one.tasks
        if inside.kind == "event"
    ]
    rng.shuffle(hops)
    if rng.random() < 0.5:
        hops.sort(key=lambda hop: hop[0].name)
    rows: list[list[tuple[Domain, str]]] = [[]]
    for hop in hops:
        if rows[0] and rows[0][-1][0] is hop[0] and hop[0].scheduler != "edf":
            rows.append([hop])
        else:
            rows[0].append(hop)
    flows = tuple(
        flow(
            f"f{number}",
            rng.randint(15, 40),
            *[hop for _, hop in row],
            jitter=rng.choice((0, 5)),
            queue=50,
        )
        for number, row in enumerate(rows)
    )
    policy = rng.choice(
        ("periodic+fp+lend", "periodic+edf+reclaim", "deferrable+fp+extra", "polling+edf+spare")
    )
    return system(policy, *domains, pcpus=len(domains), flow=flows)


def bounds_inside(inside: Inside) -> list[int]:
    """The bounds on responses of the tasks of a vcpu, in their order; 0: none is known."""
    found = [hop_witness(inside, source.name) for source in inside.vcpu.component.sources]
    return [0 if one is None else bound_of(one) for one in found]


def by_hops_and_rows(found: FlowAnalysis) -> bool:
    """Whether all bounds are of hops and rows, and none too long to be tried here.

    Else one is by the queue of a flow whose releases spread too far.
    """
    return all(
        all(stream.jitter is not None for own in inside.streams for stream in own)
        and all(0 < bound < 100 for bound in bounds_inside(inside))
        for inside in found.insides
    )


def window_of(inside: Inside) -> int:
    """The busy window of all tasks of a vcpu, across the ends of hops."""
    assert inside.vcpu.across is not None
    return busy_window(list(chain(*inside.streams)), inside.vcpu.across) or 0


def agree(one: System, found: FlowAnalysis) -> bool:
    """Whether jitters and bounds of flows are what hops and rows make of them (`spread`, `way`)."""
    least = {f"{d.name}.{task.name}": task.bcet_ns or 1 for d in one.domains for task in d.tasks}
    domain_of = {hop: hop.split(".")[0] for hop in least}
    windows: dict[str, int] = {}
    jitter: dict[str, int | None] = {}
    bound: dict[str, int] = {}
    for inside in found.insides:
        windows[inside.vcpu.domain] = window_of(inside)
        names = [f"{inside.vcpu.domain}.{one.name}" for one in inside.vcpu.component.sources]
        jitter |= {name: own[0].jitter for name, own in zip(names, inside.streams, strict=True)}
        bound |= dict(zip(names, bounds_inside(inside), strict=True))
    for verdict in found.flows:
        hops, source = verdict.flow.hops, verdict.flow.source
        latest, earliest = [0], 0
        for end, hop in enumerate(hops, 1):
            if jitter[hop] != source.jitter_ns + latest[-1] - earliest:
                return False
            alike = [domain_of[other] == domain_of[hop] for other in hops[:end]]
            rows = [start for start in range(end - 1) if all(alike[start:])]
            through = [latest[start] + windows[domain_of[hop]] for start in rows]
            latest.append(min([latest[-1] + bound[hop], *through]))
            earliest += least[hop]
        if verdict.bound_ns != latest[-1]:
            return False
    return True


def hop_claim(inside: Inside) -> str:
    """That the tasks of a vcpu pass their tests, under fixed priority with bounds as deadlines.

    With less by 1 none does. Under EDF: that they do or do not, and that the busy window bounds
    rows, and with less by 1 does not.
    """
    component, supply = inside.vcpu.component, inside.vcpu.supply
    assert isinstance(supply, Supply)
    n = len(component.sources)
    due = [source.load.deadline for source in component.sources]
    records = "; ".join(
        f"Build_task {stream.wcet} {stream.period} {deadline} {stream.jitter}"
        for deadline, (stream,) in zip(
            due if component.local is Local.EDF else bounds_inside(inside),
            inside.streams,
            strict=True,
        )
    )
    given = (
        f"let T i := nth i [{records}] (Build_task 0 1 1 0) in"
        f" let given := sbf {supply.period_ns} {supply.budget_ns} {supply.blackout_ns} in"
    )
    if component.local is Local.EDF:
        window = window_of(inside)
        kept = kept_demand(component, inside.streams, supply) is not None
        return (
            f"{given} (forallb (fun t => Nat.leb (dbf {n} T t) (given t)) (seq 0 300),"
            f" map (fun W => Nat.leb (rbf {n} T (fun _ => 0) 0 (S W)) (given W))"
            f" [{window - 1}; {window}]) = ({str(kept).lower()}, [false; true])"
        )
    passes = (
        f"let rank h := h in let level i L := Nat.leb (rbf {n} T rank i L) (given L) in"
        f" let fits i q t := Nat.leb (job_rbf {n} T rank i q t) (given t) in"
        " let until less i q :="
        " (q - 1) * period (T i) - jitter (T i) + (deadline (T i) - less) in"
        " let passes less i := match find (level i) (seq 1 400) with None => false | Some L =>"
        " forallb (fun q => existsb (fits i q) (seq 0 (1 + until less i q)))"
        " (seq 1 (ceiling (L + jitter (T i)) (period (T i)))) end in"
    )
    said = "; ".join(["true"] * n), "; ".join(["false"] * n)
    return (
        f"{given} {passes} map (fun less => map (passes less) (seq 0 {n})) [0; 1]"
        f" = [[{said[0]}]; [{said[1]}]]"
    )


def hop_claims() -> Iterator[str]:
    """The claims about 100 drawn systems with flows, whose jitters and bounds agree."""
    rng = random.Random(20261201)
    drawn = 0
    while drawn < 100:
        one = draw_chains(rng)
        found = analysis_of(one)
        if by_hops_and_rows(found):
            drawn += 1
            assert agree(one, found)
            yield from map(hop_claim, found.insides)


def in_coq(proved: Path, claims: list[str], given: str = "") -> None:
    """Has Coq compute the claims, with the definitions of the files and those that are given.

    NotProved: one is false.
    """
    (proved / "claims.v").write_text(
        "From Coq Require Import Arith Bool List. Import ListNotations.\n"
        f"From Hyperperiod Require Import model cbs slices known.\n{given}"
        + "".join(f"Goal {claim}. Proof. vm_compute. reflexivity. Qed.\n" for claim in claims)
    )
    try:
        coq(proved, "coqc", *LIBRARY, "claims.v")
    finally:
        (proved / "claims.v").unlink()


@COQ
def test_coq_and_the_analysis_compute_the_same(proved: Path) -> None:
    drawn = chain(task_claims(), server_claims(), response_claims(), budget_claims())
    in_coq(proved, [*supply_claims(), *drawn])


@COQ
def test_coq_and_the_analysis_know_the_same_of_other_servers(proved: Path) -> None:
    claims = [*known_claims()]
    assert 0 < sum(claim.endswith("false)") for claim in claims) < len(claims) // 2
    in_coq(proved, claims, KNOWN)


@COQ
def test_coq_and_the_naive_models_keep_the_same_accounts(proved: Path) -> None:
    in_coq(proved, [*cbs_claims(), *slice_claims()])


@COQ
def test_bounds_of_hops_and_rows_are_those_of_the_theorem(proved: Path) -> None:
    in_coq(proved, [*hop_claims()])


def test_the_flow_in_a_theorem_has_the_numbers_of_the_analysis() -> None:
    theorem = (SOURCES / "flow_bounds.v").read_text()
    one = system(
        "periodic+fp+lend",
        domain("driver", (4, 10), event("receive", 1, 40), event("send", 1, 40)),
        domain("control", (5, 10), event("law", 2, 40)),
        flow=(flow("command", 40, "driver.receive", "control.law", "driver.send", queue=50),),
    )
    found = analysis_of(one)
    for inside in found.insides:
        for bound, (own,) in zip(bounds_inside(inside), inside.streams, strict=True):
            assert f"Build_task {own.wcet} {own.period} {bound} {own.jitter}" in theorem
    assert [verdict.bound_ns for verdict in found.flows] == [13 + 12 + 14]
    assert "(13 + 12 + 14)" in theorem


@COQ
def test_coq_refuses_another_number(proved: Path) -> None:
    claim = next(claim for claim in supply_claims() if claim.endswith("; 20]"))
    in_coq(proved, [claim])
    with pytest.raises(NotProved, match="claims"):
        in_coq(proved, [claim.replace("; 20]", "; 21]")])


def is_refused(proved: Path, folder: Path, change: Change) -> None:
    """Asserts that a proof breaks on the change, and not the definitions."""
    files = (
        "supply|tasks|harmonic|host|deferrable|soundness|beginnings"
        "|runs|refuted|cbs_supply|slices_supply|psedf|account_runs|least|overhead_servers"
        "|overhead_supply|overhead_deferrable|flow_bounds|flow_runs|known_supply|known_table"
    )
    with pytest.raises(NotProved, match=rf'File "./({files}).v", line \d+'):
        build(falsified(proved, folder, *change), change[0])


@COQ
@pytest.mark.parametrize("change", FALSEHOODS.values(), ids=FALSEHOODS)
def test_falsehoods_are_not_proved(change: Change, proved: Path, tmp_path: Path) -> None:
    is_refused(proved, tmp_path / "proofs", change)


@COQ
@pytest.mark.slow
@pytest.mark.parametrize("change", LONG_FALSEHOODS.values(), ids=LONG_FALSEHOODS)
def test_more_falsehoods_are_not_proved(change: Change, proved: Path, tmp_path: Path) -> None:
    is_refused(proved, tmp_path / "proofs", change)


@pytest.mark.parametrize("change", UNPROVED.values(), ids=UNPROVED)
def test_claims_without_a_proof_are_named(change: Change, tmp_path: Path) -> None:
    with pytest.raises(NotProved, match=rf"{change[0]}:\d+: (Admitted|Axiom) takes something"):
        check(falsified(SOURCES, tmp_path / "proofs", *change), tmp_path)


@COQ
def test_what_coq_itself_takes_for_granted_is_seen(tmp_path: Path) -> None:
    """A claim that no word of the list gives away: what it stands on is an axiom of a library."""
    sources, folder = tmp_path / "sources", tmp_path / "compiled"
    sources.mkdir()
    folder.mkdir()
    claim = "Theorem either (P : Prop) : P \\/ ~ P.\nProof. apply classic. Qed.\n"
    (sources / "claim.v").write_text(f"From Coq Require Import Classical.\n{claim}")
    with pytest.raises(NotProved, match=r"without assumptions\nAxioms:\s+\S*classic"):
        check(sources, folder)


def test_without_coq_the_command_says_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.argv", ["check_theorems.py"])
    assert main() == 3
    assert "sudo apt-get install -y coq" in capsys.readouterr().out


def test_a_folder_without_theorems_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["check_theorems.py", str(tmp_path)])
    assert main() == 2
    assert str(tmp_path) in capsys.readouterr().out


def test_the_rows_of_the_analysis_name_theorems() -> None:
    tables = (THEOREMS, SERVER_THEOREMS, REFINEMENT_THEOREMS)
    named = chain.from_iterable(chain.from_iterable(table.values()) for table in tables)
    assert {*named} <= set(theorems(SOURCES))


def test_the_page_names_every_theorem_and_quotes_them_right() -> None:
    page = PAGE.read_text()
    missing = [name for name in theorems(SOURCES) if f"`{name}`" not in page]
    assert not missing
    quoted = re.findall(r"```coq\n(.*?)```", page, re.DOTALL)
    assert quoted
    files = "\n".join(file.read_text() for file in SOURCES.glob("*.v"))
    assert all(one in files for one in quoted)
