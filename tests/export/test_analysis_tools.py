# SPDX-License-Identifier: BSD-2-Clause
"""Systems for other tools of analysis: CARTS' input and output, tables, TOML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.carts_data import DATA, carts_budgets

from hyperperiod.analysis import resolve
from hyperperiod.cli import main
from hyperperiod.export import export_carts, export_carts_result
from hyperperiod.model import (
    Domain,
    InputError,
    Interface,
    PeriodRange,
    Scheduler,
    System,
    Task,
    TaskKind,
    load_system,
    parse_policy,
)

TOP = Path(__file__).parents[2]
PAIRS = ("979581c", "4f21596", "7873188", "a906aff", "bb0b500")
MS = 1_000_000


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(
        main, ["export", *map(str, arguments)], prog_name="hyperperiod", catch_exceptions=False
    )


def budgets(component: ET.Element) -> dict[str, dict[int, int]]:
    """The budget of each component by period, as an output of CARTS has them."""
    found = {}
    for element in component.iter("component"):
        processed = element.find("processed_task")
        assert processed is not None
        found[element.attrib["name"]] = {
            int(model.attrib["period"]): int(model.attrib["execution_time"])
            for model in processed.iter("model")
        }
    return found


@pytest.mark.parametrize("commit", PAIRS)
def test_results_are_those_of_carts(commit: str, tmp_path: Path) -> None:
    """Leaf and root, at every period; CARTS has one unit more where it rounds its noise up.

    The root of CARTS is computed from its own leaves: compared where those are ours.
    """
    out = tmp_path / "out"
    source = DATA / f"airsched_{commit}_input.xml"
    assert run(source, "--to", "carts-result", "--out", out).exit_code == 0
    ours = budgets(ET.parse(out / "system.xml").getroot())
    theirs = carts_budgets(commit)
    assert list(ours) == list(theirs)
    same = 0
    for name, found in ours.items():
        for period, budget in found.items():
            if period not in theirs[name]:
                continue
            leaves_agree = all(
                ours[leaf].get(period) == theirs[leaf].get(period)
                for leaf in ours
                if leaf != "OS Scheduler"
            )
            if name != "OS Scheduler" or leaves_agree:
                assert theirs[name][period] - budget in (0, 1), (name, period)
                same += theirs[name][period] == budget
    assert same > 2


def test_the_form_is_that_of_carts(tmp_path: Path) -> None:
    """Elements, attributes and their order, and how numbers are written."""
    out = tmp_path / "out"
    source = DATA / "airsched_bb0b500_input.xml"
    run(source, "--to", "carts-result", "--out", out)

    def form(element: ET.Element) -> Any:
        return element.tag, list(element.attrib.items()), [form(inside) for inside in element]

    ours = form(ET.parse(out / "system.xml").getroot())
    assert ours == form(ET.parse(DATA / "airsched_bb0b500_output.xml").getroot())


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("upenn_haoran-input-example", "upenn_haoran-output-example-mpr2"),
        ("upenn_dmpr-vs-mpr-in", "upenn_dmpr-vs-mpr-mpr2-out"),
    ],
)
def test_clusters_are_close_to_those_of_carts(source: str, output: str, tmp_path: Path) -> None:
    """The same form and numbers of vcpus; the budgets are those of another, sound test."""
    out = tmp_path / "out"
    assert run(DATA / f"{source}.xml", "--to", "carts-result", "--out", out).exit_code == 0
    ours = ET.parse(out / "system.xml").getroot()
    theirs = ET.parse(DATA / f"{output}.xml").getroot()
    ours_models, theirs_models = (
        [next(resource.iter("model")).attrib for resource in root.iter("resource")]
        for root in (ours, theirs)
    )
    assert [model["cpus"] for model in ours_models] == [model["cpus"] for model in theirs_models]
    for mine, other in zip(ours_models[1:], theirs_models[1:], strict=True):
        assert list(mine) == list(other)
        assert mine["period"] == other["period"]
        assert abs(int(mine["execution_time"]) / int(other["execution_time"]) - 1) < 0.05
    for component in ours.iter("component"):
        resource, processed = component.find("resource"), component.find("processed_task")
        assert resource is not None
        assert processed is not None
        each = [int(model.attrib["execution_time"]) for model in processed.iter("model")]
        (whole,) = resource.iter("model")
        assert sum(each) == int(whole.attrib["execution_time"])
        assert len(each) == int(whole.attrib["cpus"])


times = st.integers(1, 10**12)


@st.composite
def domains(draw: st.DrawFn, name: str, depth: int) -> Domain:
    period = draw(st.integers(1, 10**10))
    interface = Interface(period_ns=period, budget_ns=draw(st.integers(1, period)))
    if depth and draw(st.booleans()):
        inside = tuple(draw(domains(f"{name}-{index}", depth - 1)) for index in range(2))
        return Domain(name=name, scheduler=Scheduler.EDF, domains=inside, interface=interface)
    # One for all tasks: others would come in another order under DM there, which is refused.
    jitter_ns = draw(st.sampled_from([0, 5, 10**7]))
    tasks = tuple(
        Task(
            name=f"t{index}",
            period_ns=draw(times),
            wcet_ns=draw(times),
            deadline_ns=draw(times),
            offset_ns=draw(st.sampled_from([0, 3, 10**6])),
            jitter_ns=jitter_ns,
        )
        for index in range(draw(st.integers(1, 3)))
    )
    scheduler = draw(st.sampled_from([Scheduler.DM, Scheduler.EDF]))
    return Domain(name=name, scheduler=scheduler, tasks=tasks, interface=interface)


@st.composite
def systems(draw: st.DrawFn) -> System:
    policy = parse_policy(draw(st.sampled_from(["ptps", "periodic+edf"])))
    inside = tuple(draw(domains(f"d{index}", 2)) for index in range(draw(st.integers(1, 3))))
    return System(name="s", policy=policy, domains=inside)


def known_to_carts(domain: Domain) -> Domain:
    """Without what CARTS computes: budgets."""
    assert domain.interface is not None
    return domain.replace(
        interface=None,
        interface_period_ns=domain.interface.period_ns,
        domains=tuple(known_to_carts(inner) for inner in domain.domains),
    )


@settings(max_examples=100, deadline=None)
@given(system=systems())
def test_written_for_carts_and_read_again_is_the_same(
    system: System, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("carts") / "s.xml"
    text = export_carts(system)["system.xml"]
    assert isinstance(text, str)
    file.write_text(text)
    again = load_system(file)
    assert again.policy.rules == system.policy.rules
    assert again.domains == tuple(known_to_carts(domain) for domain in system.domains)


def test_ranges_of_periods_are_kept(tmp_path: Path) -> None:
    given_range = PeriodRange(min_ns=5 * MS, max_ns=9 * MS, step_ns=MS)
    task = Task(name="t", period_ns=40 * MS, wcet_ns=4 * MS)
    domain = Domain(name="d", tasks=(task,), interface_period_range=given_range)
    system = System(name="s", policy=parse_policy("ptps"), domains=(domain,))
    files = export_carts(system)
    (tmp_path / "s.xml").write_text(str(files["system.xml"]))
    assert load_system(tmp_path / "s.xml").domains[0].interface_period_range == given_range
    result = ET.fromstring(str(export_carts_result(system)["system.xml"]))
    assert list(budgets(result)["d"]) == [5, 6, 7, 8, 9]
    assert list(budgets(result)["OS Scheduler"]) == [5, 6, 7, 8, 9]


def test_each_pcpu_is_a_system_of_its_own() -> None:
    task = Task(name="t", period_ns=40 * MS, wcet_ns=4 * MS)
    parts = tuple(
        Domain(name=f"d{pcpu}", pcpu=pcpu, tasks=(task,), interface_period_ns=10 * MS)
        for pcpu in (0, 2)
    )
    hog = Domain(name="hog", best_effort=True, pcpu=1)
    system = System(name="s--", policy=parse_policy("wcps"), pcpus=3, domains=(*parts, hog))
    files = export_carts(system)
    assert sorted(files) == sorted(export_carts_result(system)) == ["pcpu0.xml", "pcpu2.xml"]
    text = str(files["pcpu2.xml"])
    assert "The slack rule lend changes no interface" in text
    assert "Best effort, so not here: hog" in text
    assert [c.attrib["name"] for c in ET.fromstring(text).iter("component")] == ["d2"]


PLAIN = Task(name="t", period_ns=40 * MS, wcet_ns=4 * MS)


def one(policy: str = "ptps", *tasks: Task, **more: Any) -> System:
    domain = Domain(name="d", tasks=tasks or (PLAIN,), **({"interface_period_ns": 10 * MS} | more))
    return System(name="s", policy=parse_policy(policy), domains=(domain,))


@pytest.mark.parametrize(
    ("system", "key"),
    [
        (one("ds"), "policy"),
        (one("cbs"), "policy: found cbs; allowed: periodic servers: ptps, wcps, crps, hsf-fp,"),
        (one(scheduler="fifo"), r"domain\[0\].scheduler"),
        (one(scheduler="executor"), r"domain\[0\].scheduler: found \"executor\""),
        (one(best_effort=True, interface_period_ns=None), "best-effort domains only"),
        (
            one("ptps", Task(name="b", kind=TaskKind.BUSY), interface_period_ns=None,
                interface=Interface(period_ns=MS, budget_ns=1)),
            r"domain\[0\].task\[0\].kind",
        ),
        (one("ptps", PLAIN.replace(blocking_ns=5)), r"task\[0\].blocking"),
        (
            one(
                "ptps",
                PLAIN.replace(deadline_ns=35 * MS),
                Task(name="u", period_ns=30 * MS, wcet_ns=1, deadline_ns=38 * MS),
            ),
            r"domain\[0\].scheduler",
        ),
        (
            one(
                interface_period_ns=None,
                interface_period_range=PeriodRange(min_ns=MS, max_ns=9 * MS, step_ns=2 * MS),
            ),
            "interface_period_range",
        ),
    ],
)  # fmt: skip
def test_what_carts_cannot_say_is_refused(system: System, key: str) -> None:
    for export in (export_carts, export_carts_result):
        with pytest.raises(InputError, match=key):
            export(system)


@pytest.mark.parametrize("target", ["carts", "carts-result", "csv", "toml"])
def test_the_command_writes_a_folder(target: str, tmp_path: Path) -> None:
    source = tmp_path / "s.toml"
    source.write_text(
        """name = "s"
policy = "ptps"
[[domain]]
name = "d"
interface_period = "10ms"
[[domain.task]]
name = "t"
period = "40ms"
wcet = "4ms"
"""
    )
    out = tmp_path / "out"
    result = run(source, "--to", target, "--out", out)
    assert result.exit_code == 0
    assert f"s for {target}: 1 file written to {out}" in result.stdout
    assert "README" not in result.stdout
    (file,) = [path for path in out.iterdir() if path.name != "export.json"]
    if target != "carts-result":
        again = load_system(file)
        assert again.domains[0].tasks == load_system(source).domains[0].tasks
    if target in ("csv", "toml"):
        assert load_system(file).domains == resolve(load_system(source)).domains


def test_bad_input_names_the_file(tmp_path: Path) -> None:
    source = TOP / "docs" / "examples" / "explain.toml"
    result = run(source, "--to", "carts", "--out", tmp_path / "o")
    assert result.exit_code == 2
    assert 'explain.toml: domain[2].scheduler: found "fifo"' in result.stderr
    assert not (tmp_path / "o").exists()
