# SPDX-License-Identifier: BSD-2-Clause
"""hyperperiod-check: a system and its certificate, written by hand, and damaged in every part.

All numbers of the certificate are worked out on paper. What the checker accepts is right by a
theorem (`make proofs`); here it is built and accepts what is right, refuses what is not with the
line that is wrong, and reads of a file nothing but what the file says.
"""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.building import once
from tools.build_checker import INSTALL, build, main, missing

LACKING = missing()
pytestmark = pytest.mark.skipif(LACKING is not None, reason=f"{LACKING} is not installed")

SYSTEM = """\
# Two pcpus; the two servers of the first have equal periods, so either may lose every tie.
name = "by-hand"
description = "a \\"system\\" # not a comment"
policy = "crps"   # which one does not matter
pcpus = 2

[[domain]]
name = "control"
pcpu = 0
interface = { period = "5ms", budget = "2ms" }

[[domain.task]]
name = "fast"
period = "5ms"
wcet = "1ms"

[[domain.task]]
name = "slow"
period = "10 ms"
wcet = "1.5ms"
deadline = "9999.999us"
etf = 0.5

[[domain]]
name = "vision"
scheduler = "edf"
pcpu = 0
interface_period = "5ms"

[[domain.task]]
name = "camera"
period = "20ms"
wcet = "2ms"
deadline = "15ms"
jitter = "100us"

[[domain.task]]
name = "log"
kind = "sporadic"
period = "40ms"
wcet = "1ms"
offset = "3ms"

[[domain]]
name = "radio"
scheduler = "fp"
pcpu = 1
interface_period_range = { min = "2ms", max = "8ms" }

[[domain.task]]
name = "late"
priority = 2
period = "8ms"
wcet = "1ms"
deadline = "20ms"

[[domain.task]]
name = "first"
priority = 1
period = "8ms"
wcet = "500us"

[[domain]]
name = "maintenance"
best_effort = true
pcpu = 0
"""

MS = 1_000_000
CERTIFICATE: dict[str, Any] = {
    "certificate": 1,
    "system": {"name": "by-hand", "sha256": "0"},
    "servers": [
        {"domain": "control", "pcpu": 0, "period": 5 * MS, "budget": 2 * MS, "window": 3500_000},
        {"domain": "vision", "pcpu": 0, "period": 5 * MS, "budget": 1500_000, "window": 3500_000},
        {"domain": "radio", "pcpu": 1, "period": 2 * MS, "budget": 1 * MS, "window": 1 * MS},
    ],
    "domains": [
        {
            "domain": "control",
            "supply": "harmonic",
            "tasks": [
                {"task": "fast", "window": 5 * MS, "demand": 1 * MS, "supply": 2 * MS},
                {"task": "slow", "window": 9_999_999, "demand": 3500_000, "supply": 3_999_999},
            ],
        },
        # 5 ms are asked for in 40 ms; sbf(22.5 ms) is 5 ms. Below that 2 ms, and sbf(12.5 ms) too.
        {
            "domain": "vision",
            "supply": "general",
            "horizon": 40 * MS,
            "multiple": 40 * MS,
            "points": [22_500_000, 12_500_000],
        },
        # Two jobs of the task that is late, of one of the other's: both windows end the busy time.
        {
            "domain": "radio",
            "supply": "general",
            "tasks": [{"task": "late", "window": 5 * MS}, {"task": "first", "window": 3 * MS}],
        },
    ],
    "not_certified": [{"domain": "maintenance", "why": "best effort"}],
    "assumptions": ["jobs take no longer than their wcet"],
}
PROVED = "proved: 6 tasks of 3 domains; not certified: maintenance (best effort)\n"


@pytest.fixture(scope="session")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built from the sources."""
    return once(tmp_path_factory, "hyperperiod-check", build)


def answer(checker: Path, folder: Path, system: str, certificate: object) -> tuple[int, str]:
    """The exit code and what is printed, on either output."""
    (folder / "system.toml").write_text(system)
    text = certificate if isinstance(certificate, str) else json.dumps(certificate, indent=1)
    (folder / "certificate.json").write_text(text)
    done = subprocess.run(
        [checker, folder / "system.toml", folder / "certificate.json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    return done.returncode, done.stdout + done.stderr


def changed(*path: str | int, to: object) -> dict[str, Any]:
    """The certificate with another value at one place; a place that is not there is new."""
    made = copy.deepcopy(CERTIFICATE)
    place: Any = made
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return made


def test_what_is_right_is_proved(checker: Path, tmp_path: Path) -> None:
    assert answer(checker, tmp_path, SYSTEM, CERTIFICATE) == (0, PROVED)


SLOW = ("domains", 0, "tasks", 1)
WRONG: dict[str, tuple[dict[str, Any], int, str]] = {
    "server-window": (
        changed("servers", 0, "window", to=3_499_999),
        1,
        "server of control: window 3499999: demand 3500000 is above supply 3499999",
    ),
    "server-without-window": (changed("servers", 2, "window", to=0), 1, "of radio: no window"),
    "budget-above-the-period": (
        changed("servers", 2, "budget", to=2 * MS + 1),
        1,
        "radio: budget 2000001 in period 2000000",
    ),
    "less-budget": (
        changed("servers", 1, "budget", to=1_499_999),
        1,
        "vision: windows from 22500000 to 40000000: demand 5000000 is above supply 4999995",
    ),
    "period-0": (changed("servers", 2, "period", to=0), 1, "radio: budget 1000000 in period 0"),
    "window-above-deadline": (
        changed(*SLOW, "window", to=10 * MS),
        1,
        "slow: window 10000000 is above the deadline 9999999",
    ),
    "window-too-short": (
        changed(*SLOW, "window", to=9_499_999),
        1,
        "slow: window 9499999: demand 3500000 is above supply 3499999",
    ),
    "demand-told-wrong": (changed(*SLOW, "demand", to=3_500_001), 1, "slow: window 9999999: dem"),
    "supply-told-wrong": (changed(*SLOW, "supply", to=4 * MS), 1, "slow: window 9999999: demand"),
    "harmonic-with-jitter": (
        changed("domains", 1, "supply", to="harmonic"),
        1,
        "vision: camera: not for the harmonic supply",
    ),
    "supply-unknown": (changed("domains", 0, "supply", to="edp"), 2, "supply edp: not known"),
    "point-too-early": (
        changed("domains", 1, "points", to=[22_499_999, 12_500_000]),
        1,
        "windows from 22499999 to 40000000: demand 5000000 is above supply 4999999",
    ),
    "point-left-out": (
        changed("domains", 1, "points", to=[22_500_000]),
        1,
        "no point for windows up to 22499999, demand 2000000",
    ),
    "no-points": (changed("domains", 1, "points", to=[]), 1, "no point for windows up to 4000"),
    "point-0": (changed("domains", 1, "points", to=[0]), 1, "vision: point 0"),
    "multiple-of-some": (changed("domains", 1, "multiple", to=20 * MS), 1, "multiple 20000000 is"),
    "multiple-0": (changed("domains", 1, "multiple", to=0), 1, "multiple 0 is none"),
    "horizon-before-a-deadline": (
        changed("domains", 1, "horizon", to=40 * MS - 1),
        1,
        "horizon 39999999 is too short",
    ),
    "tasks-in-another-order": (
        changed("domains", 0, "tasks", to=CERTIFICATE["domains"][0]["tasks"][::-1]),
        2,
        "task fast: the certificate names another one",
    ),
    "a-task-less": (
        changed("domains", 0, "tasks", to=CERTIFICATE["domains"][0]["tasks"][:1]),
        2,
        "not as many tasks as the domain",
    ),
    "a-server-less": (changed("servers", to=CERTIFICATE["servers"][:2]), 2, "no server for it"),
    "a-server-more": (
        changed("servers", to=[*CERTIFICATE["servers"], CERTIFICATE["servers"][0]]),
        2,
        "more than the system's domains",
    ),
    "a-domain-left-out": (
        changed("domains", to=CERTIFICATE["domains"][:2]),
        2,
        "radio: missing in the certificate",
    ),
    "a-domain-twice": (
        changed("domains", to=[*CERTIFICATE["domains"], CERTIFICATE["domains"][0]]),
        2,
        "more than the system's domains",
    ),
    "best-effort-left-out": (changed("not_certified", to=[]), 2, "maintenance: best effort"),
    "another-interface": (
        changed("servers", 0, "budget", to=2 * MS + 1),
        2,
        "server of control: the certificate has another interface",
    ),
    "another-period": (changed("servers", 1, "period", to=4 * MS), 2, "another period than the"),
    "another-pcpu": (
        changed("servers", 1, "pcpu", to=1),
        2,
        "vision: the certificate has another p",
    ),
    "another-system": (changed("system", "name", to="other"), 2, "system: another name"),
    "another-version": (changed("certificate", to=2), 2, "certificate: not 1"),
    "unknown-key": (changed("domains", 1, "hope", to=1), 2, "hope: not known to this checker"),
    "negative": (changed("domains", 1, "horizon", to=-1), 2, "horizon: found -1; allowed"),
    "fraction": (changed("servers", 0, "window", to=3.5e6), 2, "window: found 3500000.0; allowed"),
}


@pytest.mark.parametrize(("certificate", "code", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_line_is_named(
    checker: Path, tmp_path: Path, certificate: dict[str, Any], code: int, said: str
) -> None:
    found, text = answer(checker, tmp_path, SYSTEM, certificate)
    assert (found, said in text) == (code, True), text


OTHERS: dict[str, tuple[str, str, int, str]] = {
    "overheads": ('name = "maintenance"', 'name = "maintenance"\n[overheads]', 2, "overheads: not"),
    "stolen": ("pcpus = 2", 'pcpus = 2\nstolen = "1ms"', 2, "system: stolen: not known to this"),
    "policy": ('"crps"', '"rtds"', 2, "policy rtds: not known to this checker"),
    "vcpus": ('name = "vision"', 'name = "vision"\nvcpus = 2', 2, "vision: vcpus: not known"),
    "given-twice": ('wcet = "1.5ms"', 'wcet = "1.5ms"\nwcet = "1ms"', 2, "wcet: given twice"),
    "priority-of-one": ('name = "radio"', 'name = "radio"\npriority = 1', 2, "priorities, or none"),
    "pcpu-too-high": ("pcpus = 2", "pcpus = 1", 2, "radio: pcpu 1 of 1"),
    "no-whole-ns": ('"1.5ms"', '"1.5ns"', 2, "wcet: found 1.5ns; allowed: whole nanoseconds"),
    "letters": ("pcpus = 2", "pcpus = ２", 2, "system: line 5: found byte 239; allowed"),
    "no-unit": ('"1.5ms"', '"15"', 2, "wcet: found 15; allowed: a time such as 5ms"),
    "several-lines": ('"1.5ms"', '"""1.5ms"""', 2, "wcet: something behind its value"),
    "another-quote": ('"1.5ms"', "'1.5ms'", 2, "line 20: found '"),
    "more-work": ('"1.5ms"', '"2ms"', 1, "slow: window 9999999: demand 4000000 is above"),
    "shorter-period": ('"10 ms"', '"5ms"', 1, "slow: not for the harmonic supply"),
    "offset": ("etf = 0.5", 'offset = "1ns"', 1, "slow: not for the harmonic supply"),
    "more-jitter": ('"100us"', '"15ms"', 1, "vision: windows from 22500000"),
    "later-deadline": ('deadline = "15ms"', 'deadline = "41ms"', 1, "horizon 40000000 is too sh"),
    "priorities": ("priority = 1", "priority = 3", 1, "radio: first: window 3000000: demand"),
}


@pytest.mark.parametrize(("old", "new", "code", "said"), OTHERS.values(), ids=OTHERS)
def test_another_system_is_refused(
    checker: Path, tmp_path: Path, old: str, new: str, code: int, said: str
) -> None:
    assert SYSTEM.count(old) == 1
    found, text = answer(checker, tmp_path, SYSTEM.replace(old, new), CERTIFICATE)
    assert (found, said in text) == (code, True), text


UNKNOWN = {
    "blocking": ('wcet = "1ms"\noffset', 'wcet = "1ms"\nblocking = "1us"\noffset', "task.blocking"),
    "busy": ('kind = "sporadic"', 'kind = "busy"', "task.kind"),
    "fifo": ('scheduler = "edf"', 'scheduler = "fifo"', "scheduler fifo"),
    "guest": ('scheduler = "edf"', 'guest = "linux"\nscheduler = "edf"', "guest"),
}


@pytest.mark.parametrize(("old", "new", "why"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_not_known_of_a_domain_leaves_it_out(
    checker: Path, tmp_path: Path, old: str, new: str, why: str
) -> None:
    assert SYSTEM.count(old) == 1
    system = SYSTEM.replace(old, new)
    left_out = f"vision ({why}), maintenance (best effort)"
    said = f"proved in part: 4 tasks of 2 domains; not certified: {left_out}\n"
    assert answer(checker, tmp_path, system, CERTIFICATE) == (1, said)
    certificate = copy.deepcopy(CERTIFICATE)
    del certificate["domains"][1]
    certificate["not_certified"].append({"domain": "vision", "why": "not in the table of proofs"})
    assert answer(checker, tmp_path, system, certificate) == (1, said)
    certificate["domains"].append({"domain": "vision"})
    code, text = answer(checker, tmp_path, system, certificate)
    assert (code, text) == (2, "certificate: vision: both certified and not certified\n")


def test_servers_under_edf_need_no_window_but_the_sum(checker: Path, tmp_path: Path) -> None:
    system = SYSTEM.replace('"crps"', '"periodic+edf+lend"')
    certificate = copy.deepcopy(CERTIFICATE)
    for server in certificate["servers"]:
        del server["window"]
    assert answer(checker, tmp_path, system, certificate) == (0, PROVED)
    system = system.replace('budget = "2ms"', 'budget = "3500001ns"')
    certificate["servers"][0]["budget"] = 3_500_001
    assert answer(checker, tmp_path, system, certificate) == (
        1,
        "not proved: pcpu 0: budgets over periods add up to more than 1\n",
    )
    left_out(certificate, 0)
    assert answer(checker, tmp_path, system, certificate)[1].startswith("not proved: pcpu 0: ")
    left_out(certificate, 0)
    code, text = answer(checker, tmp_path, system, certificate)
    assert (code, text.split(";")[0]) == (1, "proved in part: 2 tasks of 1 domain")


def of_rule(policy: str) -> tuple[str, dict[str, Any]]:
    """The system under another policy, with vision beside radio, and its certificate.

    Vision has 1.5 ms, and radio, which is above it, three budgets of 1 ms in 4.5 ms if they may be
    back to back, and two in 3.5 ms if not.
    """
    system = SYSTEM.replace('"crps"', f'"{policy}"\nspare = {{ period = "8ms", budget = "1ms" }}')
    system = system.replace('scheduler = "edf"\npcpu = 0', 'scheduler = "edf"\npcpu = 1')
    system = system.replace('name = "radio"', 'name = "radio"\nextra = true')
    certificate = copy.deepcopy(CERTIFICATE)
    certificate["servers"][1]["pcpu"] = 1
    own = 3500_000 if policy.startswith("polling") else 4500_000
    for server, window in zip(certificate["servers"], (2 * MS, own, 1 * MS), strict=True):
        if "edf" in policy:
            del server["window"]
        else:
            server["window"] = window
    return system, certificate


def left_out(certificate: dict[str, Any], place: int) -> None:
    """Takes a domain out of those that are certified."""
    name = certificate["domains"].pop(place)["domain"]
    certificate["not_certified"].append({"domain": name, "why": "unknown"})


@pytest.mark.parametrize("policy", ["ds", "deferrable+fp+spare", "deferrable+fp+extra"])
def test_deferrable_servers_may_spend_back_to_back(
    checker: Path, tmp_path: Path, policy: str
) -> None:
    system, certificate = of_rule(policy)
    assert answer(checker, tmp_path, system, certificate) == (0, PROVED)
    for window, why in (
        (4_499_999, "servers spend 4500000"),
        (3_500_000, "servers spend 4000000"),
        (5_000_001, "is above the period 5000000"),
        (0, "servers spend 1500000"),
    ):
        certificate["servers"][1]["window"] = window
        code, text = answer(checker, tmp_path, system, certificate)
        assert (code, f"server of vision: window {window}" in text) == (1, True), text
        assert why in text


def test_deferrable_servers_whose_periods_begin_together_cannot(
    checker: Path, tmp_path: Path
) -> None:
    """Radio with 1 ms in 2.5 ms has one budget in the first half of vision's 5 ms, whatever it did
    before; one in 3 ms may have saved its budget for the last ms of three before its next one."""
    system, certificate = of_rule("ds")
    for period, window in ((2_500_000, 2_500_000), (3 * MS, 3_500_000)):
        certificate["servers"][2]["period"] = period
        certificate["servers"][1]["window"] = window
        assert "server of" not in answer(checker, tmp_path, system, certificate)[1]
        certificate["servers"][1]["window"] = window - 1
        code, text = answer(checker, tmp_path, system, certificate)
        said = f"server of vision: window {window - 1}: servers spend {window}"
        assert (code, said in text) == (1, True), text


def test_deferrable_servers_under_edf_are_judged_each_by_what_all_spend(
    checker: Path, tmp_path: Path
) -> None:
    """In 2 ms of radio vision may spend all of its 1.5 ms, in 5 ms of vision radio 3 ms."""
    system, certificate = of_rule("deferrable+edf")
    said = "server of radio: in its period of 2000000 servers spend 2500000"
    assert answer(checker, tmp_path, system, certificate) == (1, f"not proved: {said}\n")
    left_out(certificate, 2)
    code, text = answer(checker, tmp_path, system, certificate)
    assert (code, "proved in part: 4 tasks of 2 domains" in text) == (1, True), text
    certificate["servers"][2]["budget"] = 1_250_000
    assert "proved in part" in answer(checker, tmp_path, system, certificate)[1]
    certificate["servers"][2]["budget"] = 1_250_001
    code, text = answer(checker, tmp_path, system, certificate)
    assert (code, "vision: in its period of 5000000 servers spend 5000002" in text) == (1, True)


@pytest.mark.parametrize("policy", ["polling", "polling+fp+spare", "polling+edf+extra"])
def test_polling_servers_supply_later(checker: Path, tmp_path: Path, policy: str) -> None:
    """Nothing for at most 8.5 ms of vision's 1.5 ms in 5 ms, and 3 ms of radio's 1 ms in 2 ms."""
    system, certificate = of_rule(policy)
    code, text = answer(checker, tmp_path, system, certificate)
    assert (code, "control: the harmonic supply is for periodic" in text) == (1, True), text
    left_out(certificate, 0)
    code, text = answer(checker, tmp_path, system, certificate)
    assert (code, "demand 5000000 is above supply 4500000" in text) == (1, True), text
    certificate["domains"][0]["points"] = [24 * MS, 14 * MS]
    code, text = answer(checker, tmp_path, system, certificate)
    assert (code, "late: window 5000000: demand 1500000 is above supply" in text) == (1, True), text
    certificate["domains"][1]["tasks"] = [
        {"task": "late", "window": 5_500_000, "demand": 1_500_000, "supply": 1_500_000},
        {"task": "first", "window": 3_500_000},
    ]
    code, text = answer(checker, tmp_path, system, certificate)
    assert (code, "proved in part: 4 tasks of 2 domains" in text) == (1, True), text
    certificate["domains"][0]["points"] = [24 * MS, 14 * MS - 1]
    assert "demand 2000000 is above" in answer(checker, tmp_path, system, certificate)[1]


@pytest.mark.parametrize("policy", ["cbs", "cbs+edf+spare", "cbs+edf+none+partitioned"])
def test_constant_bandwidth_servers_are_judged_by_their_sum(
    checker: Path, tmp_path: Path, policy: str
) -> None:
    """Vision has 1.5 ms in 5 ms, so radio may have 1.4 ms in 2 ms beside it."""
    system, certificate = of_rule(policy)
    code, text = answer(checker, tmp_path, system, certificate)
    assert (code, "control: the harmonic supply is for periodic" in text) == (1, True), text
    left_out(certificate, 0)
    certificate["servers"][2]["budget"] = 1_400_000
    code, text = answer(checker, tmp_path, system, certificate)
    assert (code, "proved in part: 4 tasks of 2 domains" in text) == (1, True), text
    certificate["servers"][2]["budget"] = 1_400_001
    code, text = answer(checker, tmp_path, system, certificate)
    assert (code, "pcpu 1: budgets over periods add up to more than 1" in text) == (1, True), text


@pytest.mark.parametrize(
    "policy",
    ["deferrable+fp+lend", "polling+edf+reclaim", "periodic+fp+spare", "sporadic", "cbs+fp",
     "cbs+edf+lend", "cbs+edf+global", "rtds", "global+deferrable+edf", "polling+fp+",
     "polling+fp-edf", "deferrable"],
)  # fmt: skip
def test_other_policies_are_refused(checker: Path, tmp_path: Path, policy: str) -> None:
    system, certificate = of_rule(policy)
    said = f"system: policy {policy}: not known to this checker\n"
    assert answer(checker, tmp_path, system, certificate) == (2, said)


def test_a_horizon_may_rest_on_what_repeats(checker: Path, tmp_path: Path) -> None:
    """A server with just what its tasks use: no line is below, only a whole multiple helps."""
    system = (
        'name = "full"\npolicy = "ptps"\n\n[[domain]]\nname = "all"\nscheduler = "edf"\n'
        'interface = { period = "4ms", budget = "2ms" }\n\n'
        '[[domain.task]]\nname = "one"\nperiod = "4ms"\ndeadline = "6ms"\nwcet = "2ms"\n'
    )
    certificate = {
        "certificate": 1,
        "system": {"name": "full"},
        "servers": [{"domain": "all", "pcpu": 0, "period": 4, "budget": 2, "window": 2}],
        "domains": [
            {
                "domain": "all",
                "supply": "general",
                "multiple": 4,
                "horizon": 10,
                "points": [10, 6],
            }
        ],
        "not_certified": [],
        "assumptions": [],
    }
    for unit in ("servers", "domains"):
        for one in certificate[unit]:  # type: ignore[attr-defined]
            one.update({
                key: [point * MS for point in value] if key == "points" else value * MS
                for key, value in one.items()
                if key not in ("domain", "pcpu", "supply")
            })  # fmt: skip
    assert answer(checker, tmp_path, system, certificate)[0] == 0
    certificate["domains"][0]["horizon"] = 10 * MS - 1  # type: ignore[index]
    code, text = answer(checker, tmp_path, system, certificate)
    assert (code, "horizon 9999999 is too short" in text) == (1, True), text


def test_a_thousand_tasks(checker: Path, tmp_path: Path) -> None:
    """On each of 50 pcpus two domains of ten tasks: 4 ms in 10 ms, of which 1 ms in 100 is used."""
    names = [f"domain-{number}" for number in range(100)]
    system = 'name = "large"\npolicy = "wcps"\npcpus = 50\n'
    for number, name in enumerate(names):
        system += f'\n[[domain]]\nname = "{name}"\npcpu = {number // 2}\n'
        for task in range(10):
            system += f'\n[[domain.task]]\nname = "{task}"\nperiod = "100ms"\nwcet = "100μs"\n'
    certificate = {
        "certificate": 1,
        "system": {"name": "large"},
        "servers": [
            {"domain": name, "pcpu": number // 2, "period": 10 * MS, "budget": 4 * MS}
            | {"window": 8 * MS}
            for number, name in enumerate(names)
        ],
        "domains": [
            {
                "domain": name,
                "supply": "general",
                "tasks": [
                    {"task": str(task), "window": 100 * MS, "demand": (task + 1) * MS // 10}
                    for task in range(10)
                ],
            }
            for name in names
        ],
        "not_certified": [],
        "assumptions": [],
    }
    proved = (0, "proved: 1000 tasks of 100 domains\n")
    assert answer(checker, tmp_path, system, certificate) == proved


JOBS = [9 * MS, 15 * MS]
WRONG_JOBS: dict[str, tuple[int, list[int], int, str]] = {
    "none": (15 * MS, [], 1, "late: window 15000000 is above the deadline 9000000"),
    "one-fewer": (15 * MS, JOBS[:1], 1, "late: window 15000000: jobs are 2"),
    "one-more": (15 * MS, [*JOBS, 21 * MS], 1, "late: window 15000000: jobs are 2"),
    "busy-for-longer": (
        15 * MS - 1,
        JOBS,
        1,
        "late: window 14999999: demand 7000000 is above supply 6999999",
    ),
    "first-too-short": (
        15 * MS,
        [9 * MS - 1, JOBS[1]],
        1,
        "late: job 1: window 8999999: demand 4000000 is above supply 3999999",
    ),
    "second-too-short": (
        15 * MS,
        [JOBS[0], 15 * MS - 1],
        1,
        "late: job 2: window 14999999: demand 7000000 is above supply 6999999",
    ),
    "first-above-its-deadline": (
        15 * MS,
        [9 * MS + 1, JOBS[1]],
        1,
        "late: job 1: window 9000001 is above the deadline 9000000",
    ),
    "second-above-its-deadline": (
        15 * MS,
        [JOBS[0], 16 * MS + 1],
        1,
        "late: job 2: window 16000001 is above the deadline 16000000",
    ),
    "negative": (15 * MS, [JOBS[0], -1], 2, "jobs: found -1; allowed"),
}


def test_jobs_may_have_windows_of_their_own(checker: Path, tmp_path: Path) -> None:
    """3 ms every 8 ms less 1 ms of jitter, due within 9; above it 0.5 ms every 8 ms.

    Two jobs of each come in 15 ms, when all is done: 7 ms of supply. The first job is done within
    9 ms, the second comes after 7 ms or later and is due after 16.
    """
    jitter = 'jitter = "1ms"'
    system = SYSTEM.replace('wcet = "1ms"\ndeadline = "20ms"', 'wcet = "3ms"\ndeadline = "9ms"')
    system = system.replace("priority = 2", f"priority = 2\n{jitter}")
    late = {"task": "late", "window": 15 * MS, "demand": 7 * MS, "supply": 7 * MS, "jobs": JOBS}
    right = changed("domains", 2, "tasks", 0, to=late)
    assert answer(checker, tmp_path, system, right) == (0, PROVED)
    code, text = answer(checker, tmp_path, system.replace(jitter, 'jitter = "1000001ns"'), right)
    assert (code, "window 15000000: demand 10000000 is above supply 7000000" in text) == (1, True)
    for window, jobs, code, said in WRONG_JOBS.values():
        told = {"task": "late", "window": window, "jobs": jobs}
        found, text = answer(checker, tmp_path, system, changed("domains", 2, "tasks", 0, to=told))
        assert (found, said in text) == (code, True), text


@pytest.mark.parametrize("end", range(1, 300, 23))
def test_half_a_certificate_is_none(checker: Path, tmp_path: Path, end: int) -> None:
    text = json.dumps(CERTIFICATE)
    assert answer(checker, tmp_path, SYSTEM, text[:-end])[0] == 2
    assert answer(checker, tmp_path, SYSTEM, text + text[:end])[0] == 2


def test_files_that_are_not_there(checker: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [checker, tmp_path / "none", tmp_path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "none" in done.stderr) == (2, True)
    done = subprocess.run([checker], capture_output=True, text=True, check=False)
    assert (done.returncode, "usage" in done.stderr) == (2, True)


def test_without_ocaml_the_command_says_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.argv", ["build_checker.py"])
    assert main() == 3
    assert INSTALL in capsys.readouterr().out
