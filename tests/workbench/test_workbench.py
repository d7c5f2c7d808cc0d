# SPDX-License-Identifier: BSD-2-Clause
"""What programs call does what the commands do: the same numbers, the same refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import hyperperiod as hp
from hyperperiod import _sim
from hyperperiod.cli import main
from hyperperiod.hosts.linux.attend import LinuxOptions
from hyperperiod.hosts.sim import make_scenario
from hyperperiod.runs import simulate
from hyperperiod.trace.format import Kind, read

TOP = Path(__file__).parents[2]
FLIGHT = str(TOP / "systems" / "flight-control.toml")
UNFITTED = str(TOP / "systems" / "exsched-table2-unfitted.toml")
LOADS: dict[str, Any] = {
    "name": "loads",
    "systems": 6,
    "horizon": "500ms",
    "hosts": ["analysis", "sim"],
    "draw": {"domains": 2, "tasks": 4, "utilization": 0.5, "max_period": "100ms"},
    "grid": {"draw.utilization": [0.6, 0.9]},
}
LOADS_FILE = """
name = "loads"
systems = 6
horizon = "500ms"
hosts = ["analysis", "sim"]
draw = { domains = 2, tasks = 4, utilization = 0.5, max_period = "100ms" }
grid = { "draw.utilization" = [0.6, 0.9] }
"""


def printed(*arguments: str) -> dict[str, Any]:
    """What a command prints with --json."""
    done = CliRunner().invoke(main, [*arguments, "--json"])
    assert done.exit_code in (0, 1), done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# -- systems --------------------------------------------------------------------------------------


def test_texts_and_nanoseconds_make_the_same_objects() -> None:
    by_key = hp.Task(name="t", period="10ms", wcet="1.5us", jitter="0ms")
    assert by_key == hp.Task(name="t", period_ns=10_000_000, wcet_ns=1500)
    assert by_key == hp.Task(name="t", period=10_000_000, wcet_ns="1.5us")
    domain = hp.Domain(name="d", interface={"period": "10ms", "budget": 4000}, tasks=[by_key])
    interface = hp.Interface(period_ns=10_000_000, budget_ns="4us")
    assert domain == hp.Domain.of({"name": "d", "interface": interface, "task": (by_key,)})


def test_an_object_is_what_its_file_says(tmp_path: Path) -> None:
    system = hp.load(FLIGHT)
    file = tmp_path / "again.toml"
    file.write_text(hp.to_toml(system))
    assert hp.load(file) == system
    assert hp.load(FLIGHT, policy="ptps") == hp.with_policy(system, hp.parse_policy("ptps"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: hp.Task(name="io", period="10 ticks", wcet="1ms"),
            "Task io: period: found '10 ticks'; allowed: a time with a unit",
        ),
        (
            lambda: hp.Task.of({"period": "10ms", "wcet": "1ms"}),
            "Task: name: found nothing; allowed: this key is required",
        ),
        (
            lambda: hp.Domain(name="a", tasks=[{"name": "t", "perod": "1ms"}]),
            "Domain a: tasks[0].perod: found the unknown key perod; allowed: the keys here are ",
        ),
        (
            lambda: hp.Interface(period="10ms", budget="11ms"),
            "Interface: budget: found a budget of 11ms; allowed: at most the period, 10ms",
        ),
        (lambda: hp.load(FLIGHT, policy="crp"), "policy: found 'crp'; allowed: ptps, wcps"),
        (lambda: hp.simulate(hp.load(FLIGHT), "1 s?"), "horizon: found '1 s?'; allowed: a time"),
        (lambda: hp.simulate(hp.load(FLIGHT), "1s", seeds=[]), "seeds: found none; allowed: at"),
        (
            lambda: hp.simulate(  # type: ignore[call-overload]
                hp.load(FLIGHT), "1s", seeds=[1], trace=Path("x.hpt")
            ),
            "trace: found a file beside seeds; allowed: a trace of a run of one seed",
        ),
        (lambda: hp.compare(hp.load(FLIGHT), "1s", []), "policies: found none; allowed: at least"),
        (
            lambda: hp.compare(hp.load(FLIGHT), "1s", hosts=["bsd"]),
            "hosts: found 'bsd'; allowed: sim or xen or linux",
        ),
        (
            lambda: hp.compare(hp.load(FLIGHT), "1s", hosts=["sim", "sim"]),
            "hosts: found sim a second time; allowed: each once",
        ),
        (lambda: hp.compare(hp.load(FLIGHT), "1s", hosts=[]), "hosts: found none; allowed: at"),
        (lambda: hp.fit(hp.load(UNFITTED), least="x"), "least: found 'x'; allowed: bandwidth or"),
        (lambda: hp.fit(hp.load(UNFITTED), rule="x"), "rule: found 'x'; allowed: sound or paper"),
        (
            lambda: hp.sweep({**LOADS, "grid": {"draw.tasks": 3}}),
            "the experiment: grid.draw.tasks: found 3; allowed: a list",
        ),
    ],
)
def test_what_is_wrong_is_said(make: Callable[[], object], message: str) -> None:
    with pytest.raises(hp.InputError) as caught:
        make()
    assert message in str(caught.value)


# -- what the functions say is what the commands say ----------------------------------------------


def test_analyze_and_simulate() -> None:
    system = hp.load(FLIGHT)
    assert hp.analyze(system).to_dict() == printed("analyze", FLIGHT)
    run = hp.simulate(system, "500ms", seed=3)
    assert run.to_dict() == printed("simulate", FLIGHT, "--horizon", "500ms", "--seed", "3")


def test_several_seeds_are_so_many_runs() -> None:
    system = hp.load(FLIGHT)
    found = hp.simulate(system, "300ms", seeds=range(4))
    assert [run.seed for run in found.results] == [0, 1, 2, 3]
    assert found.results == tuple(hp.simulate(system, "300ms", seed=seed) for seed in range(4))
    assert len({run.tasks[0] for run in found.results}) > 1, "seeds draw other times"


@pytest.mark.parametrize("name", ["flight-control", "packet-path", "request-response"])
def test_every_response_on_request(name: str, tmp_path: Path) -> None:
    """They are those of the trace, in its order, and nothing else of the run changes."""
    system = hp.load(TOP / "systems" / f"{name}.toml")
    trace = tmp_path / "run.hpt"
    kept = hp.simulate(system, "300ms", trace=trace, histograms=True, responses=True)
    plain = hp.simulate(system, "300ms", histograms=True)
    _, records = read(trace)
    done = records[records["kind"] == Kind.COMPLETE]
    for number, task in enumerate(kept.tasks):
        assert task.responses_ns == tuple(done["value"][done["task"] == number].tolist())
    for (_, entry), (_, other) in zip(kept.entries, plain.entries, strict=True):
        responses = entry.responses_ns
        assert responses is not None
        assert entry.replace(responses_ns=None) == other
        assert sum(count for _, _, count in entry.histogram or ()) == len(responses)
        for low_ns, high_ns, count in entry.histogram or ():
            assert sum(low_ns <= one <= high_ns for one in responses) == count
    frame = kept.to_frame("responses")
    asked = {where: list(entry.responses_ns or ()) for where, entry in kept.entries}
    for where, own in asked.items():
        assert frame[frame["of"] == where]["response_ns"].tolist() == own
    assert hp.RunResult.of(kept.to_dict()) == kept
    with pytest.raises(hp.InputError, match=r"allowed: simulate\(\.\.\., responses=True\)"):
        plain.to_frame("responses")


def test_responses_are_kept_from_the_beginning_or_not_at_all() -> None:
    scenario = make_scenario(hp.resolve(hp.load(FLIGHT)), 10**9, 1)
    run = _sim.Run(scenario)
    run.advance(1000)
    with pytest.raises(ValueError, match="the run has begun"):
        run.keep_responses()


def test_compare() -> None:
    system = hp.load(FLIGHT)
    said = printed("compare", FLIGHT, "--policies", "ptps,crps", "--horizon", "300ms")
    assert hp.compare(system, "300ms", ["ptps", "crps"]).to_dict() == said
    every = printed("compare", FLIGHT, "--horizon", "300ms")
    assert hp.compare(system, "300ms").to_dict() == every
    both = hp.compare(system, "300ms", ["ptps", "crps"], seeds=[1, 2])
    assert [(run.policy, run.seed) for run in both.results] == [
        *(("ptps", 1), ("ptps", 2)),
        *(("crps", 1), ("crps", 2)),
    ]


def test_compare_on_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs on a machine is tested with the machines; here it is which runs there are."""
    system = hp.load(FLIGHT)
    said = printed("compare", FLIGHT, "--hosts", "sim", "--horizon", "300ms")
    assert hp.compare(system, "300ms", hosts=["sim"]).to_dict() == said
    for host in ("xen", "linux"):

        def run(
            *arguments: Any, host: str = host, options: LinuxOptions | None = None, **more: Any
        ) -> hp.RunResult:
            stock = options.scheduler if options else None
            return simulate(*arguments, **more).replace(host=f"{host}-{stock}" if stock else host)

        monkeypatch.setattr(f"hyperperiod.runs.run_on_{host}", run)
    hosts = ["linux", "xen", "linux-quota"]
    found = hp.compare(system, "300ms", ["ptps", "crps"], seeds=[1, 2], hosts=hosts)
    assert [(run.policy, run.host, run.seed) for run in found.results] == [
        (policy, host, seed)
        for policy, where in (("ptps", hosts), ("crps", hosts[:2]))
        for host in where
        for seed in (1, 2)
    ]
    alike = hp.compare(system, "300ms", ["ptps", "crps"], seeds=[1, 2])
    assert [run.tasks for run in found.results if run.host == "xen"] == [
        run.tasks for run in alike.results
    ]


def test_fit() -> None:
    fitted = hp.fit(hp.load(UNFITTED), time_limit="1s", solver=False)
    said = printed("fit", UNFITTED, "--heuristics", "--time-limit", "1s")
    assert fitted.system is not None
    assert hp.analyze(fitted.system).schedulable is True
    chosen = [row["bandwidth"] for row in fitted.rows()]
    assert sum(chosen) == pytest.approx(said["bandwidth"]["found"])


def test_a_sweep_of_a_dictionary_is_that_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "loads.toml"
    file.write_text(LOADS_FILE)
    folder = tmp_path / "rows"
    said = printed("sweep", str(file), "--workers", "1", "--out", str(folder))
    kept = hp.sweep(LOADS, folder)  # the folder of the same experiment: nothing is left to do
    assert kept.to_dict() == said
    assert hp.sweep(file).replace(folder=str(folder)) == kept
    assert hp.sweep(LOADS) == kept.replace(folder="")
    other = {**LOADS, "grid": {"draw.utilization": (0.6, 0.8)}}
    with pytest.raises(hp.InputError, match="folder: found the results of another experiment"):
        hp.sweep(other, folder)
    with pytest.raises(hp.InputError, match=r"loads\.toml: folder: found a file; allowed"):
        hp.sweep(LOADS, file)


def test_a_notebook_shows_a_system_as_its_file() -> None:
    system = hp.load(FLIGHT).replace(description="<b> & more")
    html = system._repr_html_()
    assert (html[:5], html[-6:]) == ("<pre>", "</pre>")
    assert unescape(html[5:-6]) == hp.to_toml(system)
    assert "<b>" not in html


# -- wrong arguments ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        hp.analyze,
        hp.resolve,
        hp.fit,
        hp.to_toml,
        lambda given: hp.with_policy(given, "ds"),
        lambda given: hp.simulate(given, "1ms"),
        lambda given: hp.compare(given, "1ms"),
    ],
)
def test_the_name_of_a_file_is_no_system(call: Callable[[Any], object]) -> None:
    with pytest.raises(hp.InputError) as caught:
        call(FLIGHT)
    allowed = "a System: hp.load(FILE) reads one, hp.System(...) makes one"
    assert str(caught.value) == f"system: found {FLIGHT!r}; allowed: {allowed}"


NUMBERS = "whole numbers, such as range(20)"
TIMES = "a time with its unit, such as '10s' or f'{horizon_ns}ns'"


def test_a_policy_can_be_named_where_one_is_taken() -> None:
    system = hp.load(FLIGHT)
    assert hp.with_policy(system, "ds") == hp.with_policy(system, hp.parse_policy("ds"))
    with pytest.raises(hp.InputError, match="policy: found 'nope'; allowed: ptps, "):
        hp.with_policy(system, "nope")


def test_a_sweep_needs_a_worker() -> None:
    with pytest.raises(hp.InputError, match="workers: found 0; allowed: at least 1"):
        hp.sweep(LOADS, workers=0)


WRONG: list[tuple[Callable[..., Any], list[Any], dict[str, Any], str]] = [
    (hp.simulate, [1.5], {}, f"horizon: found 1.5; allowed: {TIMES}"),
    (hp.simulate, [10], {}, f"horizon: found 10; allowed: {TIMES}"),
    (hp.compare, [10**9], {}, f"horizon: found 1000000000; allowed: {TIMES}"),
    (hp.simulate, [None], {}, f"horizon: found None; allowed: {TIMES}"),
    (hp.simulate, ["1ns"], {"seed": 1.5}, f"seed: found 1.5; allowed: {NUMBERS}"),
    (hp.simulate, ["1ns"], {"seed": "x"}, f"seed: found 'x'; allowed: {NUMBERS}"),
    (hp.simulate, ["1ns"], {"seeds": 3}, f"seeds: found 3; allowed: {NUMBERS}"),
    (hp.compare, ["1ns", []], {}, "policies: found none; allowed: at least one policy"),
    (hp.compare, ["1ns", ["ds", "ds"]], {}, "policies: found ds a second time; allowed: each once"),
    (hp.fit, [], {"time_limit": 1}, f"time_limit: found 1; allowed: {TIMES}"),
    (hp.fit, [], {"periods": ("1ms", 2)}, f"periods: found 2; allowed: {TIMES}"),
    (hp.fit, [], {"grid": "0s"}, "grid: found 0 ns; allowed: a time above 0"),
    (
        hp.fit,
        [],
        {"periods": ("1ms",)},
        "periods: found ('1ms',); allowed: the shortest and the longest",
    ),
    (
        hp.fit,
        [],
        {"least": "overhead", "within": "much"},
        "within: found 'much'; allowed: a share, such as 0.05",
    ),
]


@pytest.mark.parametrize(("call", "given", "named", "said"), WRONG)
def test_wrong_arguments_are_named(
    call: Callable[..., Any], given: list[Any], named: dict[str, Any], said: str
) -> None:
    with pytest.raises(hp.InputError) as caught:
        call(hp.load(FLIGHT), *given, **named)
    assert str(caught.value) == said


def test_what_is_not_a_policy_is_refused_as_one() -> None:
    with pytest.raises(hp.InputError, match="policy: found '3'; allowed: ptps, "):
        hp.compare(hp.load(FLIGHT), "1ns", [3])  # type: ignore[list-item]
    with pytest.raises(hp.InputError, match="policy: found '3'; allowed: ptps, "):
        hp.load(FLIGHT, policy=3)  # type: ignore[arg-type]


def test_one_policy_can_be_named_alone() -> None:
    system = hp.load(FLIGHT)
    assert hp.compare(system, "1ms", "ds") == hp.compare(system, "1ms", ["ds"])


def test_a_trace_may_be_named_by_a_text(tmp_path: Path) -> None:
    system = hp.load(FLIGHT)
    hp.simulate(system, "10ms", trace=str(tmp_path / "text.hpt"))
    hp.simulate(system, "10ms", trace=tmp_path / "path.hpt")
    assert (tmp_path / "text.hpt").read_bytes() == (tmp_path / "path.hpt").read_bytes()


def test_numbers_of_numpy_are_numbers() -> None:
    system = hp.load(FLIGHT)
    seed: Any = np.uint8(3)
    assert hp.simulate(system, "1ms", seed=seed) == hp.simulate(system, "1ms", seed=3)


@pytest.mark.parametrize(
    ("place", "found"),
    [("nowhere/a.hpt", "no such file or directory"), (".", "a directory")],
)
def test_a_place_for_a_trace_is_looked_at_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, found: str
) -> None:
    monkeypatch.setattr("hyperperiod.runs.simulate", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(hp.InputError, match=f": trace: found {found}; allowed: a file"):
        hp.simulate(hp.load(FLIGHT), "1s", trace=tmp_path / place)
    assert list(tmp_path.iterdir()) == []


def test_a_trace_may_go_to_a_device() -> None:
    assert hp.simulate(hp.load(FLIGHT), "1ms", trace="/dev/null").horizon_ns == 10**6
