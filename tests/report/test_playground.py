# SPDX-License-Identifier: BSD-2-Clause
"""The playground: what it makes of records is what reports show, and it follows its form."""

from __future__ import annotations

import base64
import copy
import html
import json
import random
import re
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from docs.playground import example, examples, file_words, main, policies, write
from docs.site_hook import TOP, with_playground
from tests.support.browser import Page, acted, drawn, needs_browser, opened, violations
from tests.support.building import said
from tests.support.drawn_runs import DRAWN
from tests.support.in_wasm import TEMPLATES, built
from tests.support.random_systems import random_system, step_of

from hyperperiod import resources
from hyperperiod._analysis import Local
from hyperperiod.analysis import analyze, resolve
from hyperperiod.analysis.domains.domain_level import (
    NotCovered,
    components_of,
    contract_under,
    judge_component,
    supply_under,
)
from hyperperiod.analysis.servers.groups import groups_of
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.tasks.demand_bound import dbf
from hyperperiod.analysis.tasks.request_bound import rbf
from hyperperiod.cli import main as cli
from hyperperiod.hosts.described import describe
from hyperperiod.hosts.result import RunResult
from hyperperiod.hosts.sim import run
from hyperperiod.model import (
    Interface,
    Overrun,
    Sbf,
    Scheduler,
    Scope,
    System,
    Task,
    Vcpu,
    load_system,
    vcpus_of,
)
from hyperperiod.model.values import NAME_ALLOWED
from hyperperiod.report import playground, write_report
from hyperperiod.report.meter import Meter, silent
from hyperperiod.report.palette import COLORS
from hyperperiod.report.playground import parts_of
from hyperperiod.report.timeline import first_view_ns, timeline
from hyperperiod.report.windows import choose
from hyperperiod.resources import SYSTEMS
from hyperperiod.trace.format import EXTRA, SECOND_PAYER, STOLEN, Kind, has_one_spare, read

MOST_BYTES = 3_000_000
FLIGHT_CONTROL = SYSTEMS / "flight-control.toml"
HORIZON_NS = 800_000_000
"""What the page chooses for the two examples that are changed here: ten of their first views."""
READER = """
  const { readFileSync } = require("node:fs");
  const [script, file] = process.argv.slice(1);
  const { Kind, Flag, runs } = JSON.parse(readFileSync(file));
  const source = `${readFileSync(script, "utf8")}; return [recordsOf, windowOf, dataOf];`;
  const [recordsOf, windowOf, dataOf] = new Function("Kind", "Flag", source)(Kind, Flag);
  console.log(JSON.stringify(runs.map(({ records, parts, colors, drawn, withSpare, names }) => {
    const data = dataOf(parts, colors, withSpare);
    const servers = drawn ? data.servers : [];
    const bytes = new Uint8Array(readFileSync(records));
    const win = windowOf(recordsOf(bytes), { ...data, servers }, (rules) => names[rules]);
    return { ...data, servers, windows: [{ ...win, view: data.windows[0].view }] };
  })));
"""


def test_the_timeline_of_a_run_is_that_of_its_report(tmp_path: Path) -> None:
    """What the script makes of parts and records, for drawn systems of every kind."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: apt-get install nodejs")
    runs, expected = [], []
    for number in range(40):
        system, horizon_ns = DRAWN[number % len(DRAWN)](number, random.Random(f"page {number}"))
        trace, bare = tmp_path / f"{number}.hpt", tmp_path / f"{number}"
        run(system, horizon_ns, trace_path=trace)
        header, records = read(trace)
        bare.write_bytes(records.tobytes())
        view_ns = first_view_ns(header)
        chosen, meter = choose(records, [], view_ns), Meter(silent, len(records))
        data: dict[str, Any] = {**timeline(header, records, chosen, meter)}
        names = {
            one["budget"] | one["order"] << 8 | one["slack"] << 16: one["name"]
            for one in policies(system.policy.scope)
        }
        parts = describe(system, horizon_ns, 1)
        told = {"colors": COLORS, "drawn": header["budget"] != "sporadic", "names": names}
        spare = {"withSpare": has_one_spare(header)}
        runs.append({"records": str(bare), "parts": parts, **told, **spare})
        own = {**data["windows"][0], "view": [0, view_ns]}
        sums = {"wholeEnd", "allRecords"}  # of the trace
        expected.append({key: data[key] for key in data.keys() - sums} | {"windows": [own]})
    flags = {"SECOND_PAYER": SECOND_PAYER, "EXTRA": EXTRA, "STOLEN": STOLEN}
    kinds = {kind.name: kind.value for kind in Kind}
    asked = tmp_path / "runs.json"
    asked.write_text(json.dumps({"Kind": kinds, "Flag": flags, "runs": runs}))
    found = json.loads(said(node, "-e", READER, TEMPLATES / "records.js", asked))
    assert found == json.loads(json.dumps(expected))
    windows = [one["windows"][0] for one in found]
    assert sum(len(window["swaps"]) for window in windows) > 2
    assert sum(len(window["points"]) for window in windows) > 50
    assert sum(len(window["items"]) for window in windows) > 50


CURVES = """
  const { readFileSync } = require("node:fs");
  const [script, records, file] = process.argv.slice(1);
  const { Kind, schedulers, runs } = JSON.parse(readFileSync(file));
  const source = `${readFileSync(script, "utf8")}; ${readFileSync(records, "utf8")};
    return [supplyOf, seenSupply, recordsOf];`;
  const [supplyOf, seenSupply, recordsOf] = new Function("Kind", source)(Kind);
  console.log(JSON.stringify(runs.map(({ parts, policy, lengths, records }) => {
    const read = recordsOf(new Uint8Array(readFileSync(records)));
    return lengths.map((windows, id) => {
      const { step, lack, ...found } = supplyOf(parts, id, policy, schedulers);
      if (found.why) return null;
      const late = lack && lack < Infinity && found.demand[0].at(lack) - found.supply(lack);
      found.lacks = lack === Infinity ? 0 : lack && Math.sign(late);
      found.seen = windows.map(seenSupply(read, id, step));
      const demand = found.demand.map(({ at }) => windows.map(at));
      return { ...found, supply: windows.map(found.supply), demand };
    });
  })));
"""


def curves_of(system: System, vcpu: Vcpu, windows: list[int]) -> dict[str, Any] | None:
    """What the analysis knows of a vcpu's supply and demand in windows; None where the page says
    that it does not: of what needs more than its server and its tasks."""
    domain, moved = vcpu.domain, system.flows or system.swaps or system.changes
    if moved or system.stolen or system.overruns or any(vars(system.overheads).values()):
        return None
    try:
        number = 0 if domain.vcpus == 1 else int(vcpu.name.rpartition(".")[2])
        component = components_of(domain)[number]
        contract = contract_under(system.policy, domain, system.sbf)
        if vcpu.interface is None:
            return None
        supply = supply_under(vcpu.interface, contract, [component])
    except NotCovered:
        return None
    loads, demand, lacks = component.loads, [], 0
    if component.local is Local.EDF and loads:
        lacks = int(judge_component(component, supply)[0].holds is not True)
        demand = [[dbf(loads, window) for window in windows]]
    elif component.local is Local.FIXED_PRIORITY:
        above = [loads[: place + 1] for place in range(len(loads))]
        demand = [[rbf(some, window) for window in windows] for some in above]
    sbf = [supply.sbf(window) for window in windows]
    return {"dark": supply.blackout_ns, "supply": sbf, "demand": demand, "lacks": lacks}


def in_step(system: System, number: int) -> System:
    """The system with periods of servers and tasks drawn anew, most of which divide one another."""
    draw, step_ns = random.Random(f"in step {number}"), step_of(system)

    def drawn_ns() -> int:
        return draw.choice((2, 4, 8, 8, 16, 12)) * step_ns

    def of(task: Task) -> Task:
        late_ns = draw.choice((None, None, 17 * step_ns))
        fields = {"period_ns": drawn_ns(), "deadline_ns": late_ns, "jitter_ns": 0, "offset_ns": 0}
        return Task.of(vars(task) | fields) if task.period_ns else task

    domains = []
    for domain in system.domains:
        server = domain.interface and Interface(period_ns=drawn_ns(), budget_ns=step_ns)
        domains.append(domain.replace(interface=server, tasks=tuple(map(of, domain.tasks))))
    return system.replace(domains=tuple(domains))


def test_supply_and_demand_are_those_of_the_analysis(tmp_path: Path) -> None:
    """For drawn systems under every policy; and no run shows less than the bound of a server that
    surely gets its budget."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: apt-get install nodejs")
    runs, expected, sure = [], [], []
    for number in range(240):
        system = random_system(number, extras=False)
        if number % 3 == 0:  # of two periods one of which often divides the other
            system = in_step(system.replace(sbf=Sbf.HARMONIC), number)
        horizon_ns = 60 * step_of(system)
        draw = random.Random(f"windows {number}")
        run(system, horizon_ns, trace_path=tmp_path / "run.hpt")
        bare = tmp_path / f"{number}"
        bare.write_bytes(read(tmp_path / "run.hpt")[1].tobytes())
        codes = {rule: getattr(system.policy, rule).code for rule in ("budget", "order", "slack")}
        policy = next(one for one in policies(system.policy.scope) if codes.items() <= one.items())
        vcpus = vcpus_of(system)
        near = [-1, 0, 0, 1, draw.randrange(step_of(system))]
        lengths = [
            [draw.randrange(1, 60) * step_of(system) + draw.choice(near) for _ in range(12)]
            for _ in vcpus
        ]
        parts = describe(system, horizon_ns, 1)
        runs.append({"parts": parts, "policy": policy, "lengths": lengths, "records": str(bare)})
        expected.append([curves_of(system, *one) for one in zip(vcpus, lengths, strict=True)])
        holds = {
            name: verdict.holds
            for group in groups_of(system)
            for name, verdict in zip(
                (one.name for one in group.servers),
                host_level(system.policy, group).servers,
                strict=True,
            )
        }
        sure.append([holds.get(one.name) for one in vcpus])
    kinds = {kind.name: kind.value for kind in Kind}
    asked = tmp_path / "runs.json"
    asked.write_text(json.dumps({"Kind": kinds, "schedulers": list(Scheduler), "runs": runs}))
    scripts = (TEMPLATES / "supply.js", TEMPLATES / "records.js")
    found = json.loads(said(node, "-e", CURVES, *scripts, asked))
    compared = 0
    for curves, others, gets in zip(found, expected, sure, strict=True):
        for one, other, gets_budget in zip(curves, others, gets, strict=True):
            seen = one.pop("seen") if one else []
            assert one == other
            if gets_budget and one:
                pairs = [
                    (least, bound)
                    for least, bound in zip(seen, one["supply"], strict=True)
                    if least is not None
                ]
                assert all(least >= bound for least, bound in pairs)
                compared += sum(bound > 0 for _, bound in pairs)
    assert compared > 1_000
    assert {one["lacks"] for curves in expected for one in curves if one} == {0, 1}
    harmonic = [one for curves in expected[::3] for one in curves if one]
    assert len(harmonic) > 20


def least_seen(ticks: list[tuple[bool, bool]], length: int, step: int) -> int | None:
    """The least that ran in windows with work throughout; a tick is whether there is work, and
    whether it runs."""
    windows = [ticks[at : at + length] for at in range(0, len(ticks) - length + 1, step)]
    sums = [sum(runs for _, runs in one) for one in windows if all(works for works, _ in one)]
    return min(sums, default=None)


def test_least_supply_seen_is_that_of_every_window(tmp_path: Path) -> None:
    """Against a look at every window, for drawn vcpus that work, run and move."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: apt-get install nodejs")
    runs, expected = [], []
    for number in range(40):
        draw = random.Random(f"seen {number}")
        ticks: list[tuple[bool, bool]] = []
        records: list[tuple[int, int, int, int]] = []
        works = False
        on: int | None = None
        for time in range(60):
            had, before = works, on
            works = draw.random() < (0.95 if works else 0.5)
            on = None
            if works and draw.random() < 0.6:
                on = before if before is not None and draw.random() < 0.7 else draw.randrange(2)
            if works != had:
                records.append((Kind.ARRIVE if works else Kind.DEPART, 0, -1, time))
            if before not in (None, on):
                records.append((Kind.IDLE, -1, before, time))
            if on not in (None, before):
                records.append((Kind.RUN, 0, on, time))
            ticks.append((works, on is not None))
        records.append((Kind.IDLE, -1, 1 if on == 0 else 0, 60))
        step = number % 4 and draw.randrange(1, 9)
        runs.append({"step": step, "records": records})
        expected.append([least_seen(ticks, length, step or 1) for length in range(1, 30)])
    script = """
      const { readFileSync } = require("node:fs");
      const [script, file] = process.argv.slice(1);
      const { Kind, runs } = JSON.parse(readFileSync(file));
      const source = `${readFileSync(script, "utf8")}; return seenSupply;`;
      const seen = new Function("Kind", source)(Kind);
      const keys = (one) => Object.fromEntries(["kind", "vcpu", "pcpu", "time"]
        .map((key, at) => [key, one[at]]));
      console.log(JSON.stringify(runs.map(({ records, step }) => {
        const least = seen(records.map(keys), 0, step);
        return Array.from({ length: 29 }, (_, at) => least(at + 1));
      })));
    """
    asked = tmp_path / "runs.json"
    asked.write_text(json.dumps({"Kind": {kind.name: kind.value for kind in Kind}, "runs": runs}))
    assert json.loads(said(node, "-e", script, TEMPLATES / "supply.js", asked)) == expected


def test_a_system_file_reads_to_the_same_simulation(tmp_path: Path) -> None:
    """What the page writes of the examples and of drawn systems of every kind."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: apt-get install nodejs")
    systems = [
        resolve(load_system(SYSTEMS / f"{one['name']}.toml", pinned=True)) for one in examples()
    ]
    overrun = Overrun(task="control.loop", factor=Fraction(5, 2), from_ns=3_000, to=9_000, every=2)
    systems.append(next(one for one in systems if one.name == "hungry-guests"))
    systems[-1] = systems[-1].replace(overruns=(overrun,))
    for number in range(120):
        draw = random.Random(f"file {number}")
        kind = DRAWN[number // 3 % len(DRAWN)] if number % 3 == 0 else DRAWN[0]
        systems.append(kind(number, draw)[0])
    runs: list[dict[str, Any]] = [
        {
            "name": system.name,
            "parts": parts_of(system, ""),
            "policies": policies(system.policy.scope),
        }
        for system in systems
    ]
    for again in copy.deepcopy([runs[place] for place, one in enumerate(systems) if one.changes]):
        served = [one for one in again["parts"] if one.get("best_effort") is False]
        last = max((one["priority"] for one in served), default=0)
        for one in served:
            one["priority"] = max(last - one["priority"], 0)
        runs.append(again)
    script = """
      const { readFileSync } = require("node:fs");
      const [script, file] = process.argv.slice(1);
      const { words, runs } = JSON.parse(readFileSync(file));
      const tomlOf = new Function(`${readFileSync(script, "utf8")}; return tomlOf;`)();
      const same = (one, other) =>
        ["budget", "order", "slack"].every((rule) => one[rule] === other[rule]);
      console.log(JSON.stringify(runs.map(({ name, parts, policies }) => {
        try {
          return tomlOf(name, parts, (rules) => policies.find((one) => same(one, rules)), words);
        } catch ({ message }) {
          return message;
        }
      })));
    """
    asked, written = tmp_path / "runs.json", tmp_path / "system.toml"
    asked.write_text(json.dumps({"words": file_words(), "runs": runs}))
    found = json.loads(said(node, "-e", script, TEMPLATES / "toml.js", asked))
    rings = moved = 0
    for text, one in zip(found, runs, strict=True):
        if any(part.get("ring") for part in one["parts"]):
            assert text == "a ring, which a file gives to a device"
            rings += 1
            continue
        if text.startswith("a change to another priority, "):
            assert one in runs[len(systems) :]
            moved += 1
            continue
        written.write_text(text)
        again = resolve(load_system(written, pinned=True))
        assert again.name == one["name"]
        assert parts_of(again, "") == one["parts"], text
    assert rings < 10
    assert moved > 10


def test_policies_are_those_that_a_system_file_can_name() -> None:
    assert {one["name"] for one in policies(Scope.GLOBAL)[:2]} == {"rtds", "ertds"}
    total = sum(len(policies(scope)) for scope in Scope)
    assert total == 59


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("playground") / "playground.html"
    write(path, built())
    return path


def test_the_page_is_complete_and_small(page: Path) -> None:
    assert page.stat().st_size < MOST_BYTES
    assert [one for one in Page(page).addresses if not one.startswith("#")] == []


@needs_browser
def test_the_page_keeps_the_rules_of_axe(page: Path, tmp_path: Path) -> None:
    whole = page.with_name("opened.html")
    whole.write_text(page.read_text().replace("<details>", "<details open>"))
    assert violations({"playground": whole}, tmp_path) == {"playground": []}


def misses_with(budget_ns: int) -> int:
    """What flight-control misses in the page's horizon if its first server has this budget."""
    system = resolve(load_system(FLIGHT_CONTROL, pinned=True))
    first, *others = system.domains
    assert first.interface is not None
    less = first.replace(interface=first.interface.replace(budget_ns=budget_ns))
    result = run(system.replace(domains=(less, *others)), HORIZON_NS)
    assert sum(task.misses for task in result.tasks) > 0
    return sum(task.misses for task in result.tasks)


def changed(name: str, budget_ns: int, task: dict[str, int]) -> list[dict[str, Any]]:
    """The parts of an example whose first server and task have these values."""
    parts: list[dict[str, Any]] = example(SYSTEMS / f"{name}.toml")["parts"]
    assert parts[0]["horizon_ns"] is None
    parts[0]["horizon_ns"] = HORIZON_NS
    next(part for part in parts if part["part"] == "add_vcpu")["budget_ns"] = budget_ns
    next(part for part in parts if part["part"] == "add_task").update(task)
    return parts


def link(budget_ns: int) -> str:
    """The same system as the page's address has it."""
    linked = {"name": "flight-control", "parts": changed("flight-control", budget_ns, {})}
    return base64.b64encode(json.dumps(linked).encode()).decode()


def test_a_page_of_systems_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    built()
    one = example(SYSTEMS / "overload.toml")
    assert one["name"] == "overload"
    assert {"add_domain", "add_vcpu", "add_task"} < {part["part"] for part in one["parts"]}
    wrong, crowd = tmp_path / "wrong.toml", tmp_path / "crowd.toml"
    wrong.write_text('name = "wrong"\npolicy = "none"\n')
    domain = '[[domain]]\nname = "vm"\nscheduler = "edf"\nvcpus = 65\nbest_effort = true\n'
    task = '[[domain.task]]\nname = "work"\nperiod = "1 ms"\nwcet = "1 us"\n'
    crowd.write_text(f'name = "crowd"\npolicy = "rtds"\n{domain}{task}')
    page = tmp_path / "page.html"
    for words, why in (
        ([page, wrong], f"{wrong}:2: policy: found "),
        ([page, crowd], f"{crowd}: vcpus: found 65 on one pcpu"),
        ([page, FLIGHT_CONTROL, FLIGHT_CONTROL], "name: found flight-control; "),
        ([tmp_path / "none" / "page.html", SYSTEMS / "overload.toml"], "No such file"),
    ):
        monkeypatch.setattr("sys.argv", ["playground", *map(str, words)])
        assert main() == 2
        assert why in capsys.readouterr().err
    assert not page.exists()


@needs_browser
def test_every_example_runs_and_follows_its_form(page: Path, tmp_path: Path) -> None:
    """One visit: all examples, then a small budget, instants, misses, and what is refused."""
    visit = """
      const log = document.body.appendChild(document.createElement("pre"));
      const told = (what) => { log.textContent += `[${what}]`; };
      const said = () => document.getElementById("said").textContent;
      const misses = () => [...document.querySelectorAll("#tasks tr")]
        .reduce((sum, row) => sum + Number(row.cells[2].textContent), 0);
      const set = (of, value) => {
        const input = document.querySelector(`[data-of="${of}"]`);
        input.value = value;
        input.dispatchEvent(new Event("input"));
      };
      const choose = (name) => {
        const choice = document.getElementById("example");
        choice.value = name;
        choice.dispatchEvent(new Event("change"));
      };
      const press = (what) => document.querySelector(`[data-do="${what}"]`).click();
      const instant = () => told([...document.querySelectorAll("#instant li")]
        .map((one) => one.textContent).join("; "));
      const follow = (system) => {
        location.hash = `#zoom=1.2.3ns,1000ns&system=${system}`;
        window.dispatchEvent(new Event("hashchange"));
        told(said());
      };
      const linked = misses();
      for (const { value } of [...document.getElementById("example").options].reverse()) {
        choose(value);
        told(said());
      }
      told(linked);
      choose("flight-control");
      told([...document.querySelectorAll("#curves p")].map((one) => one.textContent).join("; "));
      told(misses());
      const exact = document.querySelector('[data-of="add_vcpu 0 budget_ns"] + input');
      exact.value = "123.457";
      exact.dispatchEvent(new Event("change"));
      told(misses());
      told(exact.ariaLabel);
      exact.value = "0";
      exact.dispatchEvent(new Event("change"));
      told(said());
      set("add_vcpu 0 budget_ns", 2e5);
      told(exact.value);
      told(misses());
      document.querySelector("#system button").click();
      told(said());
      told(document.activeElement.textContent);
      choose("ertds-example3");
      for (const what of ["on", "on", "on", "on", "back"]) press(what);
      instant();
      for (const what of ["back", "back"]) press(what);
      instant();
      for (const late of ["overload", "late-packets-sedf"]) {
        choose(late);
        press("next");
        instant();
      }
      choose("hungry-guests");
      for (const wcet of [9e5, 4e5]) set("add_task 0 wcet_ns", wcet);
      for (const period of [1.5e6, 8e6]) set("add_task 0 period_ns", period);
      set("add_vcpu 0 budget_ns", 2e5);
      press("next");
      press("next");
      const seen = document.getElementById("timeline").dataset.from;
      set("add_vcpu 0 budget_ns", 2e5);
      press("next");
      told(document.getElementById("timeline").dataset.from - seen);
      set("add_vcpu 1 period_ns", 0);
      told(said());
      setTimeout(() => {
        told(/&system=(.*)/.exec(location.hash)[1]);
        const { name, parts } = JSON.parse(atob(/&system=(.*)/.exec(location.hash)[1]));
        parts[0].horizon_ns = 1e18; // and its least run is too long
        parts.find((one) => one.part === "add_task").period_ns = 3e3;
        follow(btoa(JSON.stringify({ name, parts })));
        told(document.getElementById("example").value);
        parts[0].pcpus = 1e9;
        follow(btoa(JSON.stringify({ name, parts })));
        parts[0].pcpus = 1;
        delete parts.find((one) => one.part === "add_vcpu").weight;
        follow(btoa(JSON.stringify({ name, parts })));
        follow("nothing");
        press("in");
      }, 600);
    """
    dom = opened(acted(page, visit), tmp_path, f"#zoom=0ns,40000000ns&system={link(200_000)}")
    notes = re.findall(r"\[([^\]]*)\]", dom[dom.rindex("<pre>") :])
    *ran, linked, supplies, before, typed, label, zero, shown, after, swapped, focus = notes[:-12]
    instant, first, missed, packet, further, refused, kept = notes[-12:-5]
    assert len(ran) > 20
    assert all(re.match(r"\d+ records of ", one) for one in (*ran, swapped))
    assert (before, after) == ("0", str(misses_with(200_000)))
    assert linked == after
    supplied = "500 µs in 5 ms: at most 4.5 ms without supply in windows that begin with a period"
    assert supplies.split("; ")[0] == supplied
    assert supplies.endswith("; best effort: it has no server")
    assert typed == str(misses_with(123_457))
    assert re.fullmatch(r"server of .+ budget \(µs\)", label)
    assert zero == f"✗ {label}: found 0; allowed: a time above 0, up to 104 days"
    assert shown == "200"
    assert focus == "hot swap"
    assert instant == (
        "vm2 has paid 2 µs; first, job 0, is done after 4 µs; pcpu 0: vm1 runs work, job 0, "
        "and the spare pays: the slack rule spare, until 8 µs at the latest"
    )
    assert first.startswith("the spare has 6 µs again; ")
    assert (
        "frame, job 0, has missed its deadline: of 40 ms it ran for 16 ms, "
        "others came first (control) for 24 ms" in missed
    )
    assert packet == (
        "work, job 0, has missed its deadline: of 400 µs it ran for 10 µs, beside-1 had no budget "
        "for 387 µs, others came first (service-1, service-2, service-3) for 3 µs; "
        "work, job 0, has missed its deadline: of 400 µs it ran for 6 µs, beside-0 had no budget "
        "for 391 µs, others came first (driver) for 3 µs"
    )
    assert further == "0"
    assert refused == (
        "✗ domain camera: budget: found a budget of 2.4 ms; allowed: at most the period, 100 µs"
    )
    task = {"period_ns": 8_000_000, "wcet_ns": 400_000, "bcet_ns": 320_000}
    assert json.loads(base64.b64decode(kept))["parts"] == changed("hungry-guests", 200_000, task)
    cut, name, *wrong = notes[-5:]
    assert re.match(r"\d{5} records of ", cut)
    assert name == "hungry-guests"
    assert len(wrong) == 3
    for why, words in zip(wrong, ("pcpus: found 1000000000;", "a part has fewer", ""), strict=True):
        assert why.startswith(f"✗ the link has no system that runs here: {words}")
    assert drawn(dom, "shapes") > 20


@needs_browser
def test_an_example_of_the_site_opens_in_the_page(page: Path, tmp_path: Path) -> None:
    """One visit follows some of the links of the page of examples; the last opens the page."""
    linked = with_playground((TOP / "docs" / "examples.md").read_text(), page)
    links = dict(
        re.findall(r'^### (\S+)\n\n<a href="playground.html(#[^"]+)"', linked, re.MULTILINE)
    )
    headings = set(re.findall(r"^### (\S+)$", linked, re.MULTILINE))
    assert set(links) == headings & {one["name"] for one in examples()}
    assert len(links) > 20
    hashes = [html.unescape(one) for one in links.values()]
    systems = [json.loads(base64.b64decode(one.partition("system=")[2])) for one in hashes]
    assert systems == [{"name": name} for name in links]
    followed = dict(list(zip(links, hashes, strict=True))[::9])
    visit = f"""
      const log = document.body.appendChild(document.createElement("pre"));
      const shown = () => log.append(`[${{document.getElementById("example").value}} `
        + `${{document.getElementById("said").className}}]`);
      shown();
      for (const hash of {json.dumps(list(followed.values()))}) {{
        location.hash = hash;
        window.dispatchEvent(new Event("hashchange"));
        shown();
      }}
    """
    dom = opened(acted(page, visit), tmp_path, list(followed.values())[-1])
    seen = re.findall(r"\[([^\]]*)\]", dom[dom.rindex("<pre>") :])
    assert seen == [f"{name} soft" for name in (list(followed)[-1], *followed)]


@needs_browser
def test_a_report_opens_in_the_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page lies beside the report, and shows the system of the run with the run's seed."""
    monkeypatch.setattr(resources, "PLAYGROUND", page)
    path = tmp_path / "own.toml"
    path.write_text(FLIGHT_CONTROL.read_text().replace("flight-control", "our überflug"))
    system = resolve(load_system(path, pinned=True))
    result = run(system, HORIZON_NS, 7)
    report = tmp_path / "report.html"
    write_report(report, system, analyze(system), result, None)
    (link,) = [one for one in Page(report).addresses if one.startswith(playground.BESIDE)]
    beside = tmp_path / playground.BESIDE
    assert beside.read_bytes() == page.read_bytes()
    visit = """
      const log = document.body.appendChild(document.createElement("pre"));
      log.textContent = [...document.querySelectorAll("#tasks tr")]
        .map((row) => [...row.cells].slice(0, 3).map((one) => one.textContent)).join(";")
        + `;${document.getElementById("example").value}`;
    """
    dom = opened(acted(beside, visit), tmp_path, link.removeprefix(playground.BESIDE))
    shown = html.unescape(dom[dom.rindex("<pre>") + 5 : dom.rindex("</pre>")])
    assert shown.split(";") == [*counted(result), "our überflug"]


def counted(result: RunResult) -> list[str]:
    """The rows of the page's table of tasks, without response times."""
    return [
        f"{domain.name} · {task.name},{task.jobs},{task.misses}"
        for domain in result.domains
        for task in domain.tasks
    ]


def test_which_reports_lead_to_the_playground(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of a plain file whose system the page can run, if there is a playground."""
    system = resolve(load_system(FLIGHT_CONTROL, pinned=True))
    table = resolve(load_system(TOP / "docs" / "examples" / "partitions.toml"))
    made, report = tmp_path / "made.html", tmp_path / "report.html"
    beside = tmp_path / playground.BESIDE
    monkeypatch.setattr(resources, "PLAYGROUND", made)
    assert playground.open_in_playground(report, system) is None
    made.write_text("made")
    for place, one in ((report, table), (Path("/dev/null"), system), (Path("/dev/stdout"), system)):
        assert playground.open_in_playground(place, one) is None
    assert not beside.exists()
    beside.write_text("older")
    for words in (
        ["simulate", "--horizon", "10ms", "--report"],
        ["compare", "--horizon", "10ms", "--policies", "crps", "--report"],
        ["fit", "--report"],
        ["analyze", "--explain", "dom0.device-io", "--plot"],
    ):
        asked = [words[0], str(FLIGHT_CONTROL), *words[1:], str(report)]
        assert CliRunner().invoke(cli, asked).exit_code == 0
        assert len([one for one in Page(report).addresses if one.startswith(beside.name)]) == 1
        assert beside.read_text() == "made"


@needs_browser
def test_who_there_is_is_edited_and_written_as_a_file(page: Path, tmp_path: Path) -> None:
    """Domains, vcpus and tasks come, go and get names; the page's file is the same simulation."""
    visit = """
      const log = document.body.appendChild(document.createElement("pre"));
      const told = (what) => { log.textContent += `[${what}]`; };
      const said = () => document.getElementById("said").textContent;
      const control = (label) => document.querySelector(`#system [aria-label="${label}"]`);
      const press = (label) => control(label).click();
      const set = (label, value) => {
        control(label).value = value;
        control(label).dispatchEvent(new Event("input"));
      };
      const choose = (name) => {
        const choice = document.getElementById("example");
        choice.value = name;
        choice.dispatchEvent(new Event("change"));
      };
      const rows = () => [...document.querySelectorAll("#tasks tr")]
        .map((row) => [...row.cells].slice(0, 3).map((one) => one.textContent)).join(";");
      choose("zone-controller");
      press("no domain comfort");
      press("no vcpu cockpit.1");
      press("another domain");
      press("another vcpu of vm1");
      told(document.activeElement.ariaLabel);
      press("another task of vm1");
      set("domain vm1 name", "Klima-ü");
      set("domain Klima-ü scheduler", "fp");
      told(control("task1 priority").closest("label").hidden);
      set("task1 priority", 3);
      set("task1 deadline (µs)", 32e6);
      set("task1 period (µs)", 128e6);
      set("task2 deadline (µs)", 64e6);
      set("task2 period (µs)", 32e6);
      for (const pcpus of [65, 3]) {
        set("system pcpus", pcpus);
        told(said());
      }
      set("system pcpus", 5);
      told(control("server of Klima-ü.1 budget (µs)") !== null);
      set("task2 name", "control loop");
      set("control loop name", "task1");
      told(said());
      set("task1 name", "a/b");
      told(said());
      set("a/b name", "own");
      told(document.querySelectorAll("#curves figure").length);
      told(rows());
      told(said());
      const file = document.getElementById("file").value;
      told(decodeURIComponent(document.getElementById("save").href).endsWith(file));
      log.append(`¦${file}¦`);
      press("no task receive");
      told(said());
      choose("overload");
      document.querySelector("#system h3 button").click();
      told(said());
      document.querySelector('[data-do="on"]').click();
      told(document.querySelector("#instant li:last-child").textContent);
      for (const { ariaLabel } of [...document.querySelectorAll("#system legend button")])
        press(ariaLabel);
      told(said());
      told(document.querySelectorAll("#system legend button").length);
      choose("ros2-robot");
      press("another vcpu of control");
      told(said());
      choose("flight-control");
      set("domain displays name", "navigation.0");
      press("another vcpu of navigation");
      told(said());
      choose("flight-control");
      set("server of dom0 priority", 2 ** 31);
      told(said());
      for (const _ of [1, 2]) press("another policy from some instant on");
      const ats = [...document.querySelectorAll('[data-of^="add_swap"] + input')];
      for (const at of [ats[0].value, 1e6]) {
        ats[1].value = at;
        ats[1].dispatchEvent(new Event("change"));
        told(said());
      }
      choose("deferrable-gedf-counterexample");
      const chosen = control("system policy");
      chosen.value = [...chosen.options].find((one) => one.text === "ertds").value;
      chosen.dispatchEvent(new Event("input"));
      log.append(`¦${document.getElementById("file").value}¦`);
    """
    dom = html.unescape(opened(acted(page, visit), tmp_path))
    shown = dom[dom.rindex("<pre>") + 5 : dom.rindex("</pre>")]
    before, text, after, spared, _ = shown.split("¦")
    notes = re.findall(r"\[(.*?)\]", before)
    focus, hidden, many, few, is_named, twice, wrong, curves, rows, ran, is_saved = notes
    assert (focus, hidden) == ("another vcpu of vm1", "false")
    assert many == "✗ system pcpus: found 65; allowed: 1 to 64"
    assert few == "✗ domain cockpit: pcpu: found 3; allowed: 0 to 2"
    assert (is_named, curves, is_saved) == ("true", "12", "true")
    name = "✗ domain Klima-ü: task: name: found"
    assert twice == f"{name} 'task1' a second time; allowed: each name once"
    assert wrong == f"{name} 'a/b'; allowed: {NAME_ALLOWED}"
    written = tmp_path / "system.toml"
    written.write_text(text)
    system = load_system(written, pinned=True)
    last = system.domains[-1]
    assert (system.pcpus, last.name, last.scheduler) == (5, "Klima-ü", Scheduler.FP)
    assert [(one.period_ns, one.deadline_ns, one.priority) for one in last.tasks] == [
        (128_000_000, 32_000_000, 3),
        (32_000_000, 32_000_000, 1),
    ]
    horizon = re.search(r" records of (\d+) ms,", ran)
    assert horizon is not None
    result = run(resolve(system), int(horizon[1]) * 1_000_000)
    assert rows.split(";") == counted(result)
    hop, idle, first, none, left, thread, named, rank, at_once, late = re.findall(
        r"\[(.*?)\]", after
    )
    assert hop == "✗ flow command: found no such hop; allowed: every task that it passes"
    assert idle == "✗ domain control: task: found a domain without tasks; allowed: at least one"
    assert first.startswith("pcpu 0: control runs loop, job 0, on its own budget: ")
    assert (none, left) == ("✗ domain: found none; allowed: at least one", "1")
    assert thread == "✗ domain control: vcpus: found 2; allowed: one vcpu: an executor is one thread"
    assert named.startswith("✗ domain navigation.0: name: found 'navigation.0' a second time; ")
    assert rank == "✗ server of dom0 priority: found 2147483648; allowed: 0 to 2147483647"
    assert at_once == "✗ swap: at: found 200 ms; allowed: swaps in order of time, one each"
    assert " records of 1.08 s, " in late
    written.write_text(spared)
    with_spare = load_system(written)
    assert with_spare.spare is not None
    assert resolve(with_spare.replace(spare=None)) == with_spare
