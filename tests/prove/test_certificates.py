# SPDX-License-Identifier: BSD-2-Clause
"""Certificates: every yes that can be certified is, the readers agree, no fault gets past them.

The readers are proofs/second_reader.py and, where it can be built, the extracted hyperperiod-check.
Drawn systems have periodic, deferrable, polling or constant bandwidth servers on one or two pcpus,
with interfaces given and computed, ties of all kinds, jitter, deadlines around the period. Beside
their certificates the readers see damaged ones, and those of an analysis with a fault in it: what
they accept has to be right.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import json
import math
import random
import subprocess
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.building import once
from tests.support.campaign import draw_for, sizes
from tests.support.chain_worlds import KNOWN, known_chain, wakes_of_hops

from hyperperiod._analysis import Shape
from hyperperiod.analysis.analyze import Analysis
from hyperperiod.analysis.certificate import (
    MOST_POINTS,
    Certificate,
    DomainEvidence,
    certificate_text,
    certify,
)
from hyperperiod.analysis.domains import domain_level
from hyperperiod.analysis.domains.minimal_budget import MinimalBudget
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.cli import main
from hyperperiod.model import (
    Domain,
    Flow,
    Interface,
    Scheduler,
    System,
    Task,
    TaskKind,
    load_system,
)
from hyperperiod.model.write import to_toml
from tools import build_checker

TOP = Path(__file__).parents[2]
POLICIES = {
    "periodic": (
        "ptps",
        "wcps",
        "crps",
        "periodic+edf",
        "periodic+edf+lend",
        "periodic+edf+reclaim",
    ),
    "deferrable": (
        "ds",
        "deferrable+fp+spare",
        "deferrable+edf",
        "deferrable+edf+extra",
        "rtds",
        "ertds",
    ),
    "polling": ("polling", "polling+fp+extra", "polling+edf", "polling+edf+spare"),
    "cbs": ("cbs", "cbs+edf+spare", "cbs+edf+extra", "cbs+edf+none+global"),
}
GLOBAL = ("rtds", "ertds", "cbs+edf+none+global")
"""Those that decide for all pcpus together; drawn with one, on which that is the same."""
RULES = pytest.mark.parametrize("rule", POLICIES)
MS = 1_000_000
Reader = Callable[[Path, Path], tuple[int, str]]


def second_reader() -> Reader:
    """The reader in Python, in this process."""
    spec = importlib.util.spec_from_file_location("second_reader", TOP / "proofs/second_reader.py")
    assert spec is not None, "a file with a name that ends in .py has one"
    assert spec.loader is not None, "it is read from a file"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def read(system: Path, told: Path) -> tuple[int, str]:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = module.main([str(system), str(told)])
        return code, said.getvalue()

    return read


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> list[Reader]:
    """The second reader, and before it the checker that Coq makes, where it can be built."""
    if build_checker.missing() is not None:
        return [second_reader()]
    program = once(tmp_path_factory, "hyperperiod-check", build_checker.build)

    def check(system: Path, told: Path) -> tuple[int, str]:
        done = subprocess.run([program, system, told], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return [check, second_reader()]


class Files:
    """A system and a certificate as files, and what the readers say of them."""

    def __init__(self, folder: Path, readers: list[Reader]) -> None:
        self.system, self.told = folder / "system.toml", folder / "certificate.json"
        self.readers = readers

    def read(self, told: str) -> int:
        """The exit code of all readers, but for who cannot read it: they differ in what is JSON."""
        self.told.write_text(told)
        found = [read(self.system, self.told) for read in self.readers]
        said = {code if code else said for code, said in found} - {2}
        assert len(said) <= 1, f"the readers do not agree: {found}"
        return max(code for code, _ in found)

    def certify(self, system: System) -> Certificate:
        """The certificate of a system, whose file is written."""
        self.system.write_text(to_toml(system))
        analysis = Analysis(load_system(self.system))
        return certify(analysis, analysis.result(), self.system.read_bytes())


@pytest.fixture
def files(tmp_path: Path, readers: list[Reader]) -> Files:
    return Files(tmp_path, readers)


def drawn_task(draw: random.Random, name: str, period: int, domain: dict[str, Any]) -> Task:
    deadline = draw.choice([None, None, draw.randint(max(1, period // 2), 2 * period) * MS])
    punctual = domain["harmonic"]
    return Task(
        name=name,
        kind="periodic" if punctual else draw.choice(["periodic", "periodic", "sporadic"]),
        period=period * MS,
        wcet=draw.randint(1, max(1, 250_000 * period)),
        deadline=None if punctual else deadline,
        jitter=0 if punctual else draw.choice([0, 0, draw.randint(0, period) * MS // 2]),
        offset=0 if punctual else draw.choice([0, 0, draw.randint(0, period) * MS]),
        etf=Fraction(1, 2),
        priority=draw.randint(0, 2) if domain["scheduler"] == "fp" else None,
    )


def drawn_domain(draw: random.Random, index: int, pcpus: int, *, harmonic: bool) -> Domain:
    its: dict[str, Any] = {
        "scheduler": draw.choice(["rm", "dm", "fp", "edf", "edf"]),
        "harmonic": harmonic,
    }
    step = draw.choice([1, 2, 5])
    periods = [step * draw.choice([4, 8, 16] if harmonic else [4, 6, 7, 10, 16]) for _ in range(3)]
    tasks = [
        drawn_task(draw, f"t{number}", period, its)
        for number, period in enumerate(periods[: draw.randint(1, 3)])
    ]
    way = draw.choice(["given", "period", "open"])
    period = step * draw.choice([1, 2, 4] if harmonic else [1, 2, 3, 5])
    return Domain(
        name=f"d{index}",
        scheduler=its["scheduler"],
        pcpu=draw.randrange(pcpus),
        interface=Interface(period=period * MS, budget=draw.randint(1, period * MS))
        if way == "given"
        else None,
        interface_period=period * MS if way == "period" else None,
        tasks=tasks,
    )


def with_flows(draw: random.Random, system: System) -> System:
    """The system with one or two flows through some of its tasks, which are hops from now on.

    They may come to a task twice, share it, and lead through a domain that promises nothing. Most
    servers have more budget now, and deadlines of hops are long, for all that spreads.
    """
    names = [
        f"{one.name}.{task.name}" for one in system.domains if one.is_served for task in one.tasks
    ]
    chosen = draw.sample(names, min(len(names), draw.randint(1, 3)))
    flows = tuple(
        Flow(
            name=f"f{number}",
            source={
                "kind": draw.choice(["periodic", "sporadic"]),
                "period": draw.randint(10, 60) * MS,
                "jitter": draw.choice([0, 0, draw.randint(0, 20) * MS]),
                "burst": 2 if draw.random() < 0.05 else 1,
            },
            hops=[draw.choice(chosen) for _ in range(draw.randint(1, 4))],
            deadline=draw.randint(20, 300) * MS,
            queue=draw.choice([1, 2, 3, 50]),
        )
        for number in range(draw.randint(1, 2))
    )
    visited = {hop for flow in flows for hop in flow.hops}
    return system.replace(
        domains=tuple(with_hops(draw, one, visited) for one in system.domains),
        flows=flows,
        sbf="general" if draw.random() < 0.9 else system.sbf,
    )


def with_hops(draw: random.Random, domain: Domain, hops: set[str]) -> Domain:
    """The domain with those of its tasks as hops that flows visit."""
    if not any(f"{domain.name}.{task.name}" in hops for task in domain.tasks):
        return domain
    period = draw.choice([2, 5, 10]) * MS
    return domain.replace(
        interface=Interface(period_ns=period, budget_ns=draw.randint(period // 5, period)),
        interface_period_ns=None,
        tasks=tuple(
            task.replace(
                kind=TaskKind.EVENT,
                jitter_ns=0,
                offset_ns=0,
                deadline_ns=draw.randint(10, 80) * MS,
            )
            if f"{domain.name}.{task.name}" in hops
            else task
            for task in domain.tasks
        ),
    )


def drawn(draw: random.Random, rule: str = "periodic") -> System:
    """A system of the kind that certificates are about; overloaded ones among them."""
    pcpus = draw.choice([1, 1, 2])
    harmonic = draw.random() < 0.3
    domains = [
        drawn_domain(draw, index, pcpus, harmonic=harmonic) for index in range(draw.randint(1, 4))
    ]
    if draw.random() < 0.3:
        domains.append(Domain(name="rest", best_effort=True, pcpu=0))
    policy = draw.choice(POLICIES[rule])
    if policy in GLOBAL:
        pcpus, domains = 1, [one.replace(pcpu=None) for one in domains]
    return System(
        name="drawn",
        policy=policy,
        pcpus=pcpus,
        sbf="harmonic" if harmonic or draw.random() < 0.05 else "general",
        spare=Interface(period=5 * MS, budget=MS)
        if "spare" in policy or policy == "ertds"
        else None,
        domains=[
            one.replace(extra=True) if "extra" in policy and one.is_served else one
            for one in domains
        ],
    )


def test_a_run_brings_the_certificate_of_its_analysis(files: Files, tmp_path: Path) -> None:
    path = TOP / "systems" / "flight-control.toml"
    page = tmp_path / "report.html"
    for command in (["analyze"], ["simulate", "--horizon", "10ms", "--report", str(page)]):
        told = tmp_path / f"{command[0]}.json"
        done = CliRunner().invoke(main, [*command, str(path), "--certificate", str(told)])
        assert done.exit_code == 0, done.output
    files.system = path
    assert files.read(told.read_text()) == 0
    assert told.read_bytes() == (tmp_path / "analyze.json").read_bytes()
    assert "Certificate: evidence for 4 domains" in page.read_text()


def test_a_policy_may_be_a_table_of_its_rules(files: Files) -> None:
    system = load_system(TOP / "systems" / "flight-control.toml")
    told = certificate_text(files.certify(system))
    text = files.system.read_text()
    for rules in (
        'budget = "periodic", order = "fp", slack = "reclaim"',
        'budget = "periodic", order = "fp", slack = "reclaim", scope = "partitioned"',
    ):
        files.system.write_text(text.replace('"crps"', f"{{ {rules} }}"))
        assert files.read(told) == 0
    for rules in ('budget = "crps"', 'budget = "periodic", order = "fp", slack = "spare"'):
        files.system.write_text(text.replace('"crps"', f"{{ {rules} }}"))
        assert files.read(told) == 2


@pytest.mark.parametrize("path", sorted((TOP / "systems").glob("*.toml")), ids=lambda it: it.stem)
def test_examples_are_proved_as_far_as_they_can_be(path: Path, files: Files) -> None:
    done = CliRunner().invoke(main, ["analyze", str(path), "--certificate", str(files.told)])
    if done.exit_code == 2:
        assert "pcpu: found nothing" in done.output
        return
    files.system, told = path, files.told.read_text()
    why = [gap["why"] for gap in json.loads(told)["not_certified"]]
    code = files.read(told)
    whole = done.exit_code == 0 and all(text.startswith("best effort") for text in why)
    assert (code == 0) == whole
    beyond = "no theorem is about it"
    assert whole or done.exit_code == 1 or any(text.endswith(beyond) for text in why)


@RULES
@sizes(150)
def test_every_yes_is_certified_and_proved(systems: int, rule: str, files: Files) -> None:
    proved = by_jobs = left = 0
    for number in range(systems):
        system = drawn(draw_for("certificates", number), rule)
        made = files.certify(system)
        found = Analysis(system).result()
        holds = {one.name for one in found.domains if one.schedulable}
        certified = {one.domain for one in made.domains}
        why = {one.domain: one.why for one in made.not_certified}
        assert certified <= holds
        for name in holds - certified:
            assert why[name].endswith(f"more than {MOST_POINTS:,} windows decide")
        if not holds:
            continue
        proved += len(certified)
        by_jobs += sum(any(task.jobs for task in one.tasks) for one in made.domains)
        left += len(holds - certified)
        code = files.read(certificate_text(made))
        assert "not proved" not in files.readers[-1](files.system, files.told)[1]
        complete = all(text.startswith("best effort") for text in why.values())
        has_servers = len(made.servers) == sum(one.is_served for one in system.domains)
        assert code == (0 if complete else 1 if has_servers else 2)
    assert proved > systems / 2
    # Budgets so close to the load that the first quiet instant is beyond all bounds: 1 in 90.
    assert by_jobs > systems / 10
    assert 50 * left <= proved


UNCERTIFIED = (
    "more than 100,000 windows decide",
    "no theorem is about it",
    "a window asks for more than is supplied in it",
    "no bound within its deadline",
    "is in a domain that is not certified",
    "above its deadline",
    "more than its queue holds",
)
"""Why a yes of a system with flows has no certificate: how the reasons end."""


@RULES
@sizes(30)
def test_flows_are_certified_as_far_as_the_theorem_goes(
    systems: int, rule: str, files: Files
) -> None:
    yes = certified = domains = 0
    for number in range(systems):
        draw = draw_for("flows in certificates", number)
        system = with_flows(draw, drawn(draw, rule))
        made = files.certify(system)
        found = Analysis(system).result()
        holds = {one.name for one in found.domains if one.schedulable}
        holds |= {one.name for one in found.flows if one.schedulable}
        known = {one.flow for one in made.flows if one.why is None}
        why = {one.domain: one.why for one in made.not_certified}
        why |= {one.flow: one.why for one in made.flows if one.why is not None}
        assert known | {one.domain for one in made.domains} == holds - why.keys()
        for name in holds & why.keys():
            assert why[name].endswith(UNCERTIFIED) or "too little is known" in why[name]
        yes += len(holds & {one.name for one in system.flows})
        certified += len(known)
        domains += len(made.domains)
        code = files.read(certificate_text(made))
        has_servers = len(made.servers) == sum(one.is_served for one in system.domains)
        complete = all(text.startswith("best effort") for text in why.values())
        assert code == (2 if not has_servers else 0 if complete else 1)
        said = files.readers[-1](files.system, files.told)[1]
        assert "not proved" not in said
        assert (f", {len(known)} flow" in said) == (bool(known) and has_servers)
    assert certified > systems / 10
    assert domains > systems / 4
    assert 4 * certified > yes


CHAIN: dict[str, Any] = {
    "name": "chain",
    "policy": "ptps",
    "domains": [
        {
            "name": "io",
            "pcpu": 0,
            "interface": {"period": "1ms", "budget": "400us"},
            "tasks": [
                {"name": "in", "kind": "event", "period": "10ms", "wcet": "60us", "etf": 0.5},
                {"name": "out", "kind": "event", "period": "5ms", "wcet": "80us"},
            ],
        },
        {
            "name": "law",
            "scheduler": "edf",
            "pcpu": 0,
            "interface": {"period": "2ms", "budget": "600us"},
            "tasks": [{"name": "step", "kind": "event", "period": "10ms", "wcet": "500us"}],
        },
    ],
    "flows": [
        {
            "name": "command",
            "source": {"period": "20ms", "jitter": "1ms"},
            "hops": ["io.in", "law.step", "io.out"],
            "deadline": "15ms",
        }
    ],
}
WRONG_HOPS: dict[str, tuple[int, str, Any, int]] = {
    "another jitter than the source": (0, "jitter", 999_999, 2),
    "a jitter that is too small": (1, "jitter", 2_309_999, 1),
    "a response above the deadline": (0, "response", 10_000_001, 2),
    "a response that is too short": (0, "response", 1_339_999, 1),
    "a response below a deadline under EDF": (1, "response", 9_000_000, 2),
    "responses above the deadline of the flow": (2, "response", 3_660_001, 1),
    "a window that is too short": (2, "window", 1_200_000, 1),
    "another hop": (1, "hop", "io.out", 2),
    "a window under EDF": (1, "window", 10_000_000, 2),
}


@pytest.mark.parametrize("change", WRONG_HOPS.values(), ids=WRONG_HOPS)
def test_what_is_wrong_of_a_hop_is_refused(change: tuple[int, str, Any, int], files: Files) -> None:
    told = files.certify(System(**CHAIN)).to_dict()
    assert files.read(json.dumps(told)) == 0
    place, key, value, code = change
    told["flows"][0]["hops"][place][key] = value
    assert files.read(json.dumps(told)) == code


def test_a_flow_that_is_left_out_or_has_too_few_hops_is_refused(files: Files) -> None:
    told = files.certify(System(**CHAIN)).to_dict()
    (flow,) = told["flows"]
    for flows in (
        [],
        [flow, flow],
        [flow | {"flow": "other"}],
        [flow | {"hops": flow["hops"][:2]}],
    ):
        assert files.read(json.dumps(told | {"flows": flows})) == 2
    assert files.read(json.dumps(told | {"flows": [flow | {"why": "nobody asked"}]})) == 1


HOG = """
[[flow]]
name = "hog"
source = { period = "1500us" }
hops = ["io.in"]
deadline = "100ms"
"""
HIDDEN = {
    "as it should be": ("io.in", "io.in"),
    "a hop that is written in another way": ("io.in", "io.\\u0069n"),
}


@pytest.mark.parametrize(("old", "new"), HIDDEN.values(), ids=HIDDEN)
def test_no_flow_is_hidden_from_a_reader(old: str, new: str, files: Files) -> None:
    """Its hop is in a domain with a proof, so each reader wants to see it: else all is refused."""
    told = files.certify(System(**CHAIN)).to_dict()
    told["flows"].append({"flow": "hog", "hops": [], "why": "nobody asked"})
    files.system.write_text(files.system.read_text() + HOG.replace(old, new))
    files.told.write_text(json.dumps(told))
    assert {read(files.system, files.told)[0] for read in files.readers} == {2}


def test_a_flow_is_not_taken_for_best_effort_by_its_words(files: Files) -> None:
    told = files.certify(System(**CHAIN)).to_dict()
    told["flows"].append({"flow": "hog", "hops": [], "why": "best effort"})
    words = HOG.replace("io.in", "io.nowhere") + '"best effort" = 1\n'
    files.system.write_text(files.system.read_text() + words)
    assert files.read(json.dumps(told)) == 1


def test_a_burst_of_one_is_none(files: Files) -> None:
    told = json.dumps(files.certify(System(**CHAIN)).to_dict())
    text = files.system.read_text()
    for burst, code in ((1, 0), (2, 2)):
        files.system.write_text(text.replace('"1ms" }\nhops', f'"1ms", burst = {burst} }}\nhops'))
        assert files.read(told) == code


def test_a_server_that_is_no_table_is_named(files: Files) -> None:
    told = json.dumps(files.certify(System(**CHAIN)).to_dict())
    given = '{ period = "1ms", budget = "400us" }'
    files.system.write_text(files.system.read_text().replace(given, "5"))
    assert files.read(told) == 2


def test_what_fit_chooses_is_proved_as_it_is_written(files: Files) -> None:
    given = str(TOP / "systems" / "avionics-unfitted.toml")
    command = ["fit", given, "--heuristics", "--certificate", str(files.told)]
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, files.told.exists()) == (2, False)
    assert "found --certificate alone; allowed: with --output" in done.output
    done = CliRunner().invoke(main, [*command, "-o", str(files.system)])
    assert done.exit_code == 0, done.output
    told = files.told.read_text()
    assert files.read(told) == 0
    digest = hashlib.sha256(files.system.read_bytes()).hexdigest()
    assert json.loads(told)["system"]["sha256"] == digest


def damages(draw: random.Random, text: str) -> str:
    """The text with one thing changed: a byte, a number or a line."""
    way = draw.choice(["byte", "number", "number", "line"])
    if way == "byte":
        place = draw.randrange(len(text))
        return text[:place] + chr(draw.randrange(32, 127)) + text[place + 1 :]
    lines = text.splitlines(keepends=True)
    if way == "line":
        del lines[draw.randrange(len(lines))]
        return "".join(lines)
    digits = [place for place, one in enumerate(lines) if any(c.isdigit() for c in one)]
    place = draw.choice(digits)
    found = [int(word) for word in lines[place].replace(",", " ").split() if word.isdigit()]
    if found:
        other = draw.choice([found[-1] + 1, max(0, found[-1] - 1), 2 * found[-1], 0])
        lines[place] = lines[place].replace(str(found[-1]), str(other), 1)
    return "".join(lines)


def with_interfaces(system: System, told: dict[str, Any]) -> System:
    """The system with the servers of a certificate."""
    interfaces = {
        one["domain"]: Interface(period_ns=one["period"], budget_ns=one["budget"])
        for one in told["servers"]
    }
    return system.replace(
        domains=tuple(
            one.replace(
                interface=interfaces[one.name],
                interface_period_ns=None,
                interface_period_range=None,
            )
            if one.name in interfaces
            else one
            for one in system.domains
        )
    )


@RULES
@sizes(40)
def test_damaged_certificates_are_refused_unless_they_are_right(
    systems: int, rule: str, files: Files
) -> None:
    refused = accepted = 0
    for number in range(systems):
        draw = draw_for("damaged certificates", number)
        system = drawn(draw, rule)
        if number % 2:
            system = with_flows(draw, system)
        text = certificate_text(files.certify(system))
        for _ in range(5):
            damaged = damages(draw, text)
            if damaged == text:
                continue
            code = files.read(damaged)
            refused += code != 0
            if code == 0:
                accepted += 1
                told = json.loads(damaged)
                assert Analysis(with_interfaces(system, told)).result().schedulable
    assert refused > accepted


PIECES = (
    '"""', "'", '"', "\\", "#", "\n", "=", "[", "[[", "]", "{", "}", ",", ".", "_", "+", "0x10",
    "\\u0035", "\x00", "period = '1ms'", 'interface.period = "1ms"', 'kind = "busy"',
    "priority = 1", 'scheduler = "edf"', "best_effort = true", 'deadline = "1s"',
    "[[domain]]", "[[domain.task]]", "[[flow]]", "[flow.source]", 'hops = ["d0.t0"]',
    'kind = "event"', "etf = 0.25", "queue = 1", "burst = 1", 'source = { period = "20ms" }',
    "pcpus = 2", 'quantum = "1ms"', "vcpus = 1", 'description = """\n[[domain]]\n"""',
)  # fmt: skip


def other_system(draw: random.Random, text: str) -> str:
    """The text of a system file with something put in, taken out, doubled or moved."""
    way, place = draw.choice(["piece", "cut", "line", "moved", "twice"]), draw.randrange(len(text))
    lines = text.splitlines(keepends=True)
    one = draw.randrange(len(lines))
    match way:
        case "piece":
            return text[:place] + draw.choice(PIECES) + text[place:]
        case "cut":
            return text[:place] + text[place + draw.randint(1, 6) :]
        case "line":
            lines.insert(one, draw.choice(PIECES) + "\n")
        case "moved":
            lines.insert(draw.randrange(len(lines)), lines.pop(one))
        case _:
            lines.insert(draw.randrange(len(lines)), lines[one])
    return "".join(lines)


@sizes(40)
def test_readers_understand_the_same_of_a_system_file(systems: int, files: Files) -> None:
    """Or one of them does not read it. What the product would refuse they may well read."""
    read = 0
    for number in range(systems):
        draw = draw_for("other system files", number)
        system = with_flows(draw, drawn(draw)) if number % 2 else drawn(draw)
        told = certificate_text(files.certify(system))
        text = files.system.read_text()
        for _ in range(5):
            files.system.write_bytes(other_system(draw, text).encode())
            read += files.read(told) != 2
    assert read > systems / 4


# Parts of an analysis with a fault: what is put in their place.
certificate, certified_hops, resolve, analyze = (
    import_module(f"hyperperiod.analysis.{name}")
    for name in ("certificate", "certified_hops", "resolve", "analyze")
)
grid = import_module("hyperperiod.analysis.servers.deferrable_grid")
RBF, DBF, HORIZON = certificate.rbf, certificate.dbf, certificate._horizon
RANKS, MINIMAL_BUDGET = certified_hops.component_of_tasks, resolve.minimal_budget
HOST_LEVEL, WINDOWS = analyze.host_level, certificate._windows
FIND = certificate.find_proof
ROWS = certified_hops._rows
JITTERS, FLOW_EVIDENCE = certified_hops._jitters, certificate._flow_evidence


def budget_less_one(*given: Any) -> MinimalBudget:
    found: MinimalBudget = MINIMAL_BUDGET(*given)
    return found._replace(budget_ns=max(1, (found.budget_ns or 1) - 1))


def says_yes(domain: Domain, contract: object) -> domain_level.DomainVerdict:  # noqa: ARG001
    yes = Verdict.yes(1)
    return domain_level.DomainVerdict(yes, {task.name: yes for task in domain.tasks})


def jobs_one_fewer(*given: Any) -> tuple[int, tuple[int, ...]]:
    window, jobs = WINDOWS(*given)
    return window, jobs[:-1]


def without_responses(flows: Any, tasks: Any, responses: Any) -> Any:  # noqa: ARG001
    return JITTERS(flows, tasks, {})


def rows_of_tasks(domain: Domain, *given: Any) -> Any:
    periods = {task.name: task.period_ns for task in domain.tasks}
    for row in ROWS(domain, *given):
        yield row._replace(load=row.load._replace(period=periods[row.task]))


def due_whenever(flow: Flow, verdict: Any, known: Any) -> Any:
    flow = flow.replace(deadline_ns=2**60, queue=10**6)
    return FLOW_EVIDENCE(flow, verdict.replace(schedulable=True), known)


def held_whatever_comes(flow: Flow, verdict: Any, known: Any) -> Any:
    return FLOW_EVIDENCE(flow.replace(queue=10**6), verdict.replace(schedulable=True), known)


def hosts_say_yes(*given: Any, **options: Any) -> Any:
    found = HOST_LEVEL(*given, **options)
    return found._replace(servers=[Verdict.yes(1) for _ in found.servers])


FAULTS: dict[str, list[tuple[object, str, Any]]] = {
    "the floor that the paper prints": [
        (
            certificate,
            "rbf",
            lambda loads, t: sum((t + x.jitter) // x.period * x.wcet for x in loads),
        )
    ],
    "jitter is not looked at": [
        (certificate, "rbf", lambda loads, t: RBF([x._replace(jitter=0) for x in loads], t))
    ],
    "higher tasks are not looked at": [(certificate, "rbf", lambda loads, t: RBF(loads[-1:], t))],
    "one nanosecond less is asked for": [(certificate, "rbf", lambda loads, t: RBF(loads, t) - 1)],
    "deadlines count as behind the window": [
        (certificate, "dbf", lambda loads, t: DBF(loads, t - 1))
    ],
    "first jobs only": [
        (certificate, "dbf", lambda loads, t: sum(x.wcet for x in loads if x.deadline <= t))
    ],
    "jitter is not looked at under EDF": [
        (certificate, "dbf", lambda loads, t: DBF([x._replace(jitter=0) for x in loads], t))
    ],
    "a blackout of one gap": [
        (Supply, "blackout_ns", property(lambda it: it.period_ns - it.budget_ns))
    ],
    "no blackout": [(Supply, "blackout_ns", property(lambda it: 0))],  # noqa: ARG005
    "more supply": [(Supply, "time_for", lambda it, work: max(1, it.blackout_ns + work - 1))],
    "a job less in a busy window": [(certificate, "_windows", jobs_one_fewer)],
    "half the horizon": [(certificate, "_horizon", lambda *given: HORIZON(*given) // 2)],
    "a multiple of tasks' periods alone": [
        (certificate, "lcm", lambda own, *others: math.lcm(*others))  # noqa: ARG005
    ],
    "tasks in the order of their deadlines": [
        (
            certified_hops,
            "component_of_tasks",
            lambda how, tasks: RANKS(Scheduler.DM if how is Scheduler.RM else how, tasks),
        )
    ],
    "equal tasks in the other order": [
        (certified_hops, "component_of_tasks", lambda how, tasks: RANKS(how, tasks[::-1]))
    ],
    "servers of equal priority are not looked at": [
        (
            Group,
            "before",
            lambda it, own: [x for x in it.servers if x.priority < own.priority],
        )
    ],
    "no other server is looked at": [
        (
            certificate,
            "fp_response_time",
            lambda group: [Verdict.yes(one.budget_ns) for one in group.servers],
        )
    ],
    "budgets a nanosecond short": [
        (resolve, "minimal_budget", budget_less_one),
        (analyze, "judge_domain", says_yes),
    ],
    "the harmonic supply for all tasks": [
        (domain_level, "refusal", lambda *given: None)  # noqa: ARG005
    ],
    "all servers get their budgets": [(analyze, "host_level", hosts_say_yes)],
    "no budgets are back to back": [(certificate, "deferrable_grid", certificate.fp_response_time)],
    "periods all divide one another": [(grid, "gcd", lambda its, own: its)],  # noqa: ARG005
    "all deferrable servers get their budgets": [(analyze, "host_level", hosts_say_yes)],
    "all constant bandwidth servers get their budgets": [(analyze, "host_level", hosts_say_yes)],
    "no budget is lost": [
        (certificate, "find_proof", lambda rules: FIND(rules).replace(supply=Shape.GENERAL))
    ],
    "the harmonic supply for polling servers": [
        (domain_level, "refusal", lambda *given: None)  # noqa: ARG005
    ],
}
FLOW_FAULTS: dict[str, list[tuple[object, str, Any]]] = {
    "hops spread no further than their source": [(certified_hops, "_jitters", without_responses)],
    "jobs take all of their wcet": [(Task, "bcet_ns", property(lambda it: it.wcet_ns))],
    "responses are not added up": [(certificate, "_flow_evidence", due_whenever)],
    "queues hold all items": [(certificate, "_flow_evidence", held_whatever_comes)],
    "items come a period of their task apart": [(certified_hops, "_rows", rows_of_tasks)],
}
"""Those that only a system with flows shows."""
FAULTS |= FLOW_FAULTS
RULE_OF = {
    "no budgets are back to back": "deferrable",
    "periods all divide one another": "deferrable",
    "servers of equal priority are not looked at": "deferrable",
    "all deferrable servers get their budgets": "deferrable",
    "all constant bandwidth servers get their budgets": "cbs",
    "no budget is lost": "polling",
    "the harmonic supply for polling servers": "polling",
}
"""The budget rule of the servers that a fault is about; where it is left out, periodic."""


@pytest.mark.parametrize(
    "system", [wakes_of_hops(), *map(known_chain, KNOWN)], ids=["wakes", *KNOWN]
)
def test_what_was_once_a_false_yes_is_not_proved(system: System, files: Files) -> None:
    """Its overheads, rules or scheduler are beyond the theorems, and nobody believes a claim."""
    certificate = files.certify(system)
    assert not certificate.domains
    claimed = tuple(
        DomainEvidence(domain=one.domain, supply="general") for one in certificate.servers
    )
    forged = certificate.replace(domains=claimed, not_certified=())
    assert files.read(certificate_text(forged)) != 0


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_analysis_is_found_by_the_readers(
    fault: str, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(400):
        draw = draw_for("faults", number)
        system = drawn(draw, RULE_OF.get(fault, "periodic"))
        if fault in FLOW_FAULTS:
            system = with_flows(draw, system)
        with monkeypatch.context() as faulty:
            for where, name, other in FAULTS[fault]:
                faulty.setattr(where, name, other)
            made = files.certify(system)
        if made.domains and files.read(certificate_text(made)) == 1:
            said = files.readers[-1](files.system, files.told)[1]
            if said.startswith("not proved: "):
                files.read(certificate_text(files.certify(system)))
                said = files.readers[-1](files.system, files.told)[1]
                assert not said.startswith("not proved: "), "it is not for the fault"
                return
    pytest.fail(f"nobody found that {fault}")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("analyze systems/flight-control.toml --policy ptps", "found --policy beside it"),
        ("analyze -", "found a system that was read from <stdin>"),
        ("analyze systems/flight-control.toml --certificate x.txt", "allowed: a name that ends"),
        ("simulate -", "found a system that was read from <stdin>"),
        (
            "run systems/flight-control.toml --on xen",
            "on xen, which runs the system with overheads",
        ),
    ],
)
def test_what_the_checker_could_not_read_gets_no_certificate(given: str, said: str) -> None:
    command, *rest = given.split()
    with contextlib.chdir(TOP):
        text = Path("systems/flight-control.toml").read_text()
        done = CliRunner().invoke(main, [command, "--certificate", "x.json", *rest], input=text)
        assert done.exit_code == 2
        assert said in done.output
        assert not Path("x.json").exists()
