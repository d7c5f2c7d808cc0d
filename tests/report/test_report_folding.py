# SPDX-License-Identifier: BSD-2-Clause
"""Long tables are folded to what matters, and everything stays in the page."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.support.browser import acted, needs_browser, opened

from hyperperiod.analysis import analyze
from hyperperiod.model import load_system
from hyperperiod.report import compare_report, write_report
from hyperperiod.report.charts import POINTS, points_each
from hyperperiod.report.folding import LONG, ROWS, fold
from hyperperiod.runs import simulate

DOMAINS = 1024
SCREEN = 900
DOMAIN = """
[[domain]]
name = "vm{0}"
pcpu = {1}
interface = {{ period = "10ms", budget = "280us" }}
[[domain.task]]
name = "work"
period = "20ms"
wcet = "{2}us"
"""
"""280 us in 10 ms carry 500 us in 20 ms, not 900."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pages about 1,024 domains, of which one misses deadlines."""
    folder = tmp_path_factory.mktemp("many")
    system_file, trace = folder / "many.toml", folder / "many.hpt"
    head = 'name = "many"\npolicy = "ds"\npcpus = 32\n'
    domains = [
        DOMAIN.format(at, at % 32, 900 if at == DOMAINS - 2 else 500) for at in range(DOMAINS)
    ]
    system_file.write_text(head + "".join(domains))
    system = load_system(system_file)
    result = simulate(system, 60_000_000, trace_path=trace)
    write_report(folder / "report.html", system, analyze(system), result, trace)
    compare_report(folder / "compare.html", [result, result], [trace, trace])
    return folder


def test_short_tables_stay_whole() -> None:
    assert not fold(range(LONG)).is_long


def test_long_tables_show_the_rows_with_the_most_trouble_in_their_order() -> None:
    rows = list(range(100))
    folded = fold(rows, [row == 70 or row == 30 for row in rows])
    shown = [row for row, hidden in folded.pairs if not hidden]
    assert folded.is_long
    assert len(folded) == 100
    assert len(shown) == folded.shown == ROWS
    assert {30, 70} < set(shown)
    assert shown == sorted(shown)


@pytest.mark.parametrize("lines", [1, 100, 1024])
def test_all_charts_together_have_a_bounded_number_of_points(lines: int) -> None:
    assert points_each(lines) * lines <= max(POINTS, 24 * lines)
    assert points_each(lines) >= 24


def test_nothing_is_lost_without_a_script(pages: Path) -> None:
    text = (pages / "report.html").read_text()
    assert len(re.findall(r"<th><span class=.chip[^>]*></span>vm\d+ · work</th>", text)) == DOMAINS
    rows = re.findall(r"<tr( class=.more.)?>\s*<th><span [^>]*></span>vm(\d+) · work", text)
    shown = [int(number) for hidden, number in rows if not hidden]
    assert len(shown) == ROWS
    assert DOMAINS - 2 in shown, "the row with a miss is among those shown"
    assert text.count('title="show the median response') <= ROWS


SAY = """
  const out = document.createElement("output");
  const say = () => {
    const rows = [...document.querySelectorAll("tbody tr")].filter((row) => row.offsetHeight);
    const height = document.documentElement.scrollHeight;
    out.textContent += `height ${height} rows ${rows.length};`;
  };
  const unfold = () => document.querySelectorAll(".unfold").forEach((box) => box.click());
  setTimeout(() => {
    say();
    unfold();
    setTimeout(() => { say(); document.body.append(out); }, 500);
  }, 500);
"""
FILTER = """
  document.querySelectorAll(".fold .filter").forEach((box) => {
    box.value = "vm77 work";
    box.dispatchEvent(new Event("input"));
  });
"""


def seen(page: Path, script: str, tmp_path: Path) -> list[tuple[int, int]]:
    """The height of the page and how many rows of its tables are seen, after the script and once
    all tables are unfolded."""
    own = tmp_path / page.name
    shutil.copyfile(page, own)
    found = re.findall(r"height (\d+) rows (\d+);", opened(acted(own, script + SAY), tmp_path))
    return [(int(height), int(rows)) for height, rows in found]


@needs_browser
@pytest.mark.parametrize("name", ["report.html", "compare.html"])
def test_a_page_of_a_thousand_domains_is_a_few_screens_tall(
    name: str, pages: Path, tmp_path: Path
) -> None:
    (height, rows), (_, all_rows) = seen(pages / name, "", tmp_path)
    assert height < 6 * SCREEN
    assert rows < 5 * ROWS
    assert all_rows >= DOMAINS


@needs_browser
def test_a_filter_shows_what_matches_and_nothing_else(pages: Path, tmp_path: Path) -> None:
    (_, rows), _ = seen(pages / "report.html", FILTER, tmp_path)
    # Of the tasks; domains and pcpus have no task's name in them.
    assert rows == len([at for at in range(DOMAINS) if str(at).startswith("77")])


@needs_browser
def test_the_timeline_finds_rows_beyond_those_it_shows(pages: Path, tmp_path: Path) -> None:
    type_ = """
      const box = document.getElementById("rows");
      box.value = "vm1000";
      box.dispatchEvent(new Event("input"));
    """
    page = tmp_path / "page.html"
    shutil.copyfile(pages / "report.html", page)
    height = re.compile(r'<canvas id="timeline"[^>]*style="height: (\d+)px')
    few = height.search(opened(page, tmp_path))
    one = height.search(opened(acted(page, type_), tmp_path))
    more = height.search(opened(acted(page, "document.getElementById('more').click();"), tmp_path))
    assert few is not None
    assert one is not None
    assert more is not None
    assert int(one.group(1)) < int(few.group(1)) < int(more.group(1))
