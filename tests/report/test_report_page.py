# SPDX-License-Identifier: BSD-2-Clause
"""The pages: what stands in them, readable without a script and without a network."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.support import sample_report as sample
from tests.support.browser import Page

from hyperperiod.model import load_system, parse_policy, with_policy
from hyperperiod.report import compare_report, write_report
from hyperperiod.runs import simulate

LENDING = Path(__file__).parents[2] / "docs" / "lessons" / "lending.toml"


def report(folder: Path, **changed: Any) -> Page:
    path = folder / "report.html"
    parts: dict[str, Any] = {
        "system": sample.system(folder),
        "analysis": sample.analysis(folder),
        "result": sample.result(),
        "trace_path": sample.trace(folder),
    }
    write_report(path, **(parts | changed))
    return Page(path)


def test_the_verdict_comes_first(tmp_path: Path) -> None:
    page = report(tmp_path)
    assert page.open == []
    assert page.text.index("Analysis: schedulable") < page.text.index("Interfaces")
    assert "Simulation: no deadline missed" in page.text
    assert "3 jobs released in 40 ns; not one was late." in page.text


def test_misses_are_told(tmp_path: Path) -> None:
    page = report(tmp_path, result=sample.result(misses=1))
    assert "Simulation: 1 deadline missed" in page.text
    assert "1 job of 3 late in 40 ns, in 1 task." in page.text
    assert "✗ 1" in page.text


@pytest.mark.parametrize(
    ("verdict", "title"),
    [(False, "Analysis: not schedulable"), (None, "Analysis: not decided")],
)
def test_other_verdicts_say_why(verdict: bool | None, title: str, tmp_path: Path) -> None:
    analysis = sample.analysis(tmp_path).replace(schedulable=verdict, reason="too little")
    page = report(tmp_path, analysis=analysis)
    assert title in page.text
    assert "Why: too little." in page.text


def test_names_are_text_and_never_markup(tmp_path: Path) -> None:
    page = report(tmp_path)
    assert "Two domains, <one> of them & its tasks late" in page.text
    assert "<one>" not in page.source


def test_tables_need_no_script(tmp_path: Path) -> None:
    text = report(tmp_path).text
    for word in ("high", "40.0 %", "low", "10 ns", "high · t", "28 ns", "pcpu 0", "35.0 %"):
        assert word in text
    assert "The timeline needs JavaScript" in text


def test_stolen_time_has_a_column_where_there_may_be_some(tmp_path: Path) -> None:
    whole = sample.result()
    (pcpu,) = whole.pcpus
    for stolen_ns, shown in ((10, "35.0 % 25.0 % 40.0 %"), (0, "35.0 % 0.0 % 65.0 %")):
        robbed = pcpu.replace(idle_ns=pcpu.idle_ns - stolen_ns, stolen_ns=stolen_ns)
        text = report(tmp_path, result=whole.replace(pcpus=(robbed,))).text
        assert "busy stolen idle switches" in text
        assert shown in text
        assert "was not there to be granted" in text
    text = report(tmp_path).text
    assert "busy idle switches" in text
    assert "35.0 % 65.0 %" in text
    assert "was not there to be granted" not in text


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    pages = [report(tmp_path)]
    compare_report(tmp_path / "compare.html", [sample.result(), sample.result("crps")])
    pages.append(Page(tmp_path / "compare.html"))
    for page in pages:
        assert all(address.startswith("#") for address in page.addresses)
        assert "default-src 'none'" in page.source
        # The name of SVG is no address, and its own hatches are in it.
        source = page.source.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|@import|url\((?!#)", source)


def test_without_a_trace_there_is_no_timeline(tmp_path: Path) -> None:
    page = report(tmp_path, trace_path=None)
    assert "Interfaces" in page.text
    assert "Timeline" not in page.text


def test_an_interrupted_run_says_so(tmp_path: Path) -> None:
    result = sample.result().replace(interrupted=True)
    assert "The run was interrupted" in report(tmp_path, result=result).text
    assert "The run was interrupted" not in report(tmp_path).text


def test_a_comparison_shows_every_run(tmp_path: Path) -> None:
    path = tmp_path / "compare.html"
    results = [sample.result("ptps"), sample.result("crps", misses=1)]
    compare_report(path, results, [sample.trace(tmp_path)] * 2)
    page = Page(path)
    assert page.open == []
    assert "by-hand: ptps, crps" in page.text
    assert "no deadline missed in 3 jobs" in page.text
    assert "1 deadline missed of 3 jobs" in page.text
    assert re.search(
        r"Missed deadlines of \w+ · \w: \d+.\d % with crps, 0.0 % with ptps", page.text
    )
    assert page.source.count("<svg viewBox") == 1 + 2 + 2  # all jobs, two tasks, two spreads


def test_a_comparison_says_what_differs_most(tmp_path: Path) -> None:
    """The page names the response with the largest ratio: 7 to 1 ms here, beside 7 to 3."""
    system = load_system(LENDING)
    found = {
        policy: simulate(with_policy(system, parse_policy(policy)), 40_000_000)
        for policy in ("ptps", "wcps", "crps")
    }
    path = tmp_path / "compare.html"
    compare_report(path, list(found.values()))
    page = Page(path)
    sentence = "control · act: 7 ms with wcps, 1 ms with ptps and crps, 7 times as long."
    assert f"Longest response of {sentence}" in page.text
    assert re.findall(r'width="([\d.]+)" fill', page.source) == ["45.7", "320.0", "45.7"]
    compare_report(path, [found["crps"]] * 2)
    assert "What differs most" not in Page(path).text


@pytest.mark.parametrize(
    ("budget", "wcet", "sentence"),
    [
        ("10ms", "1ms", "low · t: none finished with ptps, 2 ms with crps."),
        ("6ms", "5999999ns", None),  # a nanosecond of difference
    ],
)
def test_a_comparison_knows_the_largest_and_the_least_difference(
    budget: str, wcet: str, sentence: str | None, tmp_path: Path
) -> None:
    """A task that never runs differs more than any ratio says, and what reads the same does not."""
    file = tmp_path / "edge.toml"
    file.write_text(
        'name = "edge"\npolicy = "ptps"\n'
        + "".join(
            f'[[domain]]\nname = "{name}"\npriority = {priority}\n'
            f'interface = {{ period = "10ms", budget = "{of}" }}\n'
            f'[[domain.task]]\nname = "t"\nperiod = "{period}"\nwcet = "{work}"\n'
            for name, priority, of, period, work in (
                ("high", 0, budget, "10ms", wcet),
                ("low", 1, "4ms", "100ms", "1ms"),
            )
        )
    )
    system = load_system(file)
    results = [
        simulate(with_policy(system, parse_policy(policy)), 80_000_000)
        for policy in ("ptps", "crps")
    ]
    compare_report(tmp_path / "compare.html", results)
    text = Page(tmp_path / "compare.html").text
    assert ("What differs most" in text) == (sentence is not None)
    assert sentence is None or f"Longest response of {sentence}" in text


def test_a_comparison_without_distributions_has_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "compare.html"
    compare_report(path, [sample.result()])
    page = Page(path)
    assert "high · t" in page.text
    assert "<svg viewBox" not in page.source
