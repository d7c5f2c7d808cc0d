# SPDX-License-Identifier: BSD-2-Clause
"""The playground: what it makes of records is what reports show, and it follows its form."""

from __future__ import annotations

import base64
import html
import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from docs.playground import example, examples, main, policies, write
from docs.site_hook import TOP, with_playground
from tests.support.browser import Page, acted, drawn, needs_browser, opened, violations
from tests.support.building import said
from tests.support.drawn_runs import DRAWN
from tests.support.in_wasm import TEMPLATES, built

from hyperperiod.analysis import resolve
from hyperperiod.hosts.sim import run
from hyperperiod.model import Scope, load_system
from hyperperiod.report.meter import Meter, silent
from hyperperiod.report.timeline import timeline
from hyperperiod.report.windows import choose
from hyperperiod.resources import SYSTEMS
from hyperperiod.trace.format import EXTRA, SECOND_PAYER, STOLEN, Kind, read

MOST_BYTES = 3_000_000
FLIGHT_CONTROL = SYSTEMS / "flight-control.toml"
READER = """
  const { readFileSync } = require("node:fs");
  const [script, file] = process.argv.slice(1);
  const { Kind, Flag, runs } = JSON.parse(readFileSync(file));
  const source = `${readFileSync(script, "utf8")}; return [recordsOf, windowOf];`;
  const [recordsOf, windowOf] = new Function("Kind", "Flag", source)(Kind, Flag);
  const nameOf = (names) => (rules) => names[rules];
  console.log(JSON.stringify(runs.map(({ records, data, names }) =>
    windowOf(recordsOf(new Uint8Array(readFileSync(records))), data, nameOf(names)))));
"""


def test_the_window_of_a_run_is_that_of_its_report(tmp_path: Path) -> None:
    """The script's reading of records against Python's, for drawn systems of every kind."""
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
        data = timeline(header, records, choose(records, [], 1), Meter(silent, len(records)))
        names = {
            one["budget"] | one["order"] << 8 | one["slack"] << 16: one["name"]
            for one in policies(system.policy.scope)
        }
        runs.append({"records": str(bare), "data": data, "names": names})
        expected.append({**data["windows"][0], "view": None})
    flags = {"SECOND_PAYER": SECOND_PAYER, "EXTRA": EXTRA, "STOLEN": STOLEN}
    kinds = {kind.name: kind.value for kind in Kind}
    asked = tmp_path / "runs.json"
    asked.write_text(json.dumps({"Kind": kinds, "Flag": flags, "runs": runs}))
    found = json.loads(said(node, "-e", READER, TEMPLATES / "records.js", asked))
    for one, window in zip(found, expected, strict=True):
        assert {**one, "view": None} == window
    assert sum(len(window["swaps"]) for window in found) > 2
    assert sum(len(window["items"]) for window in found) > 50
    assert sum(len(window["points"]) for window in found) > 50


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
    assert violations({"playground": page}, tmp_path) == {"playground": []}


def misses_with(budget_ns: int) -> int:
    """What flight-control misses in the page's horizon if its first server has this budget."""
    one = example(FLIGHT_CONTROL)
    system = resolve(load_system(FLIGHT_CONTROL, pinned=True))
    first, *others = system.domains
    assert first.interface is not None
    less = first.replace(interface=first.interface.replace(budget_ns=budget_ns))
    result = run(system.replace(domains=(less, *others)), one["parts"][0]["horizon_ns"])
    assert sum(task.misses for task in result.tasks) > 0
    return sum(task.misses for task in result.tasks)


def changed(name: str, budget_ns: int, task: dict[str, int]) -> list[dict[str, Any]]:
    """The parts of an example whose first server and task have these values."""
    parts: list[dict[str, Any]] = example(SYSTEMS / f"{name}.toml")["parts"]
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
        parts[0].horizon_ns = 1e18;
        follow(btoa(JSON.stringify({ name, parts })));
        follow("nothing");
        press("in");
      }, 600);
    """
    dom = opened(acted(page, visit), tmp_path, f"#zoom=0ns,40000000ns&system={link(200_000)}")
    notes = re.findall(r"\[([^\]]*)\]", dom[dom.rindex("<pre>") :])
    *ran, linked, before, typed, label, zero, shown, after, swapped, focus = notes[:-9]
    instant, first, missed, packet, further, refused, kept = notes[-9:-2]
    assert len(ran) > 20
    assert all(re.match(r"\d+ records of ", one) for one in (*ran, swapped))
    assert (before, after) == ("0", str(misses_with(200_000)))
    assert linked == after
    assert typed == str(misses_with(123_457))
    assert re.fullmatch(r"server of .+ budget \(µs\)", label)
    assert zero == f"✗ {label}: found 0; allowed: a time above 0"
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
    assert refused == "✗ a budget is zero or above its period"
    task = {"period_ns": 8_000_000, "wcet_ns": 400_000, "bcet_ns": 320_000}
    assert json.loads(base64.b64decode(kept))["parts"] == changed("hungry-guests", 200_000, task)
    assert set(notes[-2:]) == {"✗ the link has no system of this page"}
    assert drawn(dom, "shapes") > 20


@needs_browser
def test_an_example_of_the_site_opens_in_the_page(page: Path, tmp_path: Path) -> None:
    """One visit follows all links that the site's page of examples has; the last opens the page."""
    linked = with_playground((TOP / "docs" / "examples.md").read_text(), page)
    links = dict(
        re.findall(r'^### (\S+)\n\n<a href="playground.html(#[^"]+)"', linked, re.MULTILINE)
    )
    headings = set(re.findall(r"^### (\S+)$", linked, re.MULTILINE))
    assert set(links) == headings & {one["name"] for one in examples()}
    assert len(links) > 20
    hashes = [html.unescape(one) for one in links.values()]
    visit = f"""
      const log = document.body.appendChild(document.createElement("pre"));
      const shown = () => log.append(`[${{document.getElementById("example").value}} `
        + `${{document.getElementById("said").className}}]`);
      shown();
      for (const hash of {json.dumps(hashes)}) {{
        location.hash = hash;
        window.dispatchEvent(new Event("hashchange"));
        shown();
      }}
    """
    dom = opened(acted(page, visit), tmp_path, hashes[-1])
    seen = re.findall(r"\[([^\]]*)\]", dom[dom.rindex("<pre>") :])
    assert seen == [f"{name} soft" for name in (list(links)[-1], *links)]
