# SPDX-License-Identifier: BSD-2-Clause
"""A real browser opens the report: no errors, the timeline is drawn, and it moves."""

import base64
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.support import sample_report as sample
from tests.support.browser import acted, drawn, needs_browser, opened
from tests.support.sample_report import late_page

from hyperperiod.analysis import analyze
from hyperperiod.report import compare_report, write_report
from hyperperiod.runs import simulate

pytestmark = needs_browser


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    parts = (sample.system(tmp_path), sample.analysis(tmp_path), sample.result())
    write_report(path, *parts, sample.trace(tmp_path))
    return path


def test_the_timeline_is_drawn(page: Path, tmp_path: Path) -> None:
    dom = opened(page, tmp_path)
    assert drawn(dom, "shapes") > 20
    assert (drawn(dom, "from"), drawn(dom, "to")) == (0, 40)


def test_the_address_chooses_the_view(page: Path, tmp_path: Path) -> None:
    dom = opened(page, tmp_path, "#zoom=0,24ns")
    assert (drawn(dom, "from"), drawn(dom, "to")) == (0, 24)
    assert "0 to 24 ns" in dom


def test_keys_zoom_and_pan_and_other_data_keep_the_view(page: Path, tmp_path: Path) -> None:
    keys = """
      const press = (key) => document.getElementById("timeline")
        .dispatchEvent(new KeyboardEvent("keydown", { key }));
      press("+"); press("ArrowLeft"); press("ArrowLeft");
      showTimeline(JSON.parse(document.getElementById("data").textContent));
    """
    dom = opened(acted(page, keys), tmp_path)
    assert (drawn(dom, "from"), drawn(dom, "to")) == (0, 20)


def test_the_wheel_zooms_around_the_pointer(page: Path, tmp_path: Path) -> None:
    wheel = """
      const canvas = document.getElementById("timeline");
      const box = canvas.getBoundingClientRect();
      const event = { deltaY: -60, ctrlKey: true, clientX: box.right - 6, cancelable: true };
      canvas.dispatchEvent(new WheelEvent("wheel", event));
    """
    dom = opened(acted(page, wheel), tmp_path)
    assert drawn(dom, "from") == 12
    assert drawn(dom, "to") == 40


def test_pointing_at_stolen_time_says_so(tmp_path: Path) -> None:
    system, trace, page = sample.robbed(tmp_path), tmp_path / "robbed.hpt", tmp_path / "robbed.html"
    result = simulate(system, 20_000_000, trace_path=trace)
    write_report(page, system, analyze(system), result, trace)
    point = """
      const canvas = document.getElementById("timeline");
      const box = canvas.getBoundingClientRect();
      setTimeout(() => canvas.dispatchEvent(new PointerEvent("pointermove",
        { clientX: box.left + 180, clientY: box.top + 70 })), 500);
    """
    dom = opened(acted(page, point), tmp_path, "#zoom=0,2ms")
    assert "stolen: not there to be granted" in dom.partition('id="tip"')[2]
    assert "0 to 2 ms (2 ms)" in dom


def test_buttons_work_and_pointing_tells(page: Path, tmp_path: Path) -> None:
    click = """
      document.querySelector("[data-do=in]").click();
      document.querySelector("[data-do=fit]").click();
      const canvas = document.getElementById("timeline");
      const box = canvas.getBoundingClientRect();
      setTimeout(() => canvas.dispatchEvent(new PointerEvent("pointermove",
        { clientX: box.left + 180, clientY: box.top + 70 })), 500);
    """
    dom = opened(acted(page, click), tmp_path)
    assert (drawn(dom, "from"), drawn(dom, "to")) == (0, 40)
    assert "high runs" in dom
    assert "pays: high" in dom


def test_the_number_of_misses_leads_to_a_late_miss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = late_page(tmp_path, monkeypatch)
    click = """
      document.querySelector('a[title^="show the first miss"]').click();
      setTimeout(() => {
        const canvas = document.getElementById("timeline");
        const box = canvas.getBoundingClientRect();
        document.title = `at the top: ${box.top >= 0 && box.top < innerHeight / 2}`;
        const middle = box.left + 176 + (box.width - 182) / 2;
        canvas.dispatchEvent(new PointerEvent("pointermove",
          { clientX: middle, clientY: box.top + 266 }));
      }, 500);
    """
    before = opened(page, tmp_path)
    assert (drawn(before, "window"), drawn(before, "from")) == (0, 0)
    dom = opened(acted(page, click), tmp_path)
    assert drawn(dom, "window") > 0
    assert drawn(dom, "from") < 3_000_000_000
    assert drawn(dom, "to") > 3_050_000_000
    assert drawn(dom, "shapes") > 20
    assert "<title>at the top: true</title>" in dom
    assert "first miss of video.rescale, at 3.05 s" in dom
    assert "video · rescale, job 0" in dom
    assert "✗ missed its deadline" in dom


def test_a_window_can_be_chosen_from_the_list_and_by_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = late_page(tmp_path, monkeypatch)
    choose = """
      const list = document.getElementById("windows");
      list.selectedIndex = list.length - 1;
      list.dispatchEvent(new Event("change"));
    """
    dom = opened(acted(page, choose), tmp_path)
    assert drawn(dom, "window") > 0
    assert drawn(dom, "from") > 1_000_000_000
    dom = opened(page, tmp_path, "#zoom=3.01s,3.02s")
    assert (drawn(dom, "from"), drawn(dom, "to")) == (3_010_000_000, 3_020_000_000)


def test_a_comparison_opens_without_errors(tmp_path: Path) -> None:
    path = tmp_path / "compare.html"
    results = [sample.result("ptps"), sample.result("crps")]
    compare_report(path, results, [sample.trace(tmp_path)] * 2)
    assert "All jobs" in opened(path, tmp_path)


def test_what_is_shown_is_saved_as_svg_and_png(page: Path, tmp_path: Path) -> None:
    keep = """
      URL.createObjectURL = (blob) => {
        const reader = new FileReader();
        reader.onload = () => { document.body.dataset[blob.type.slice(6, 9)] = reader.result; };
        reader.readAsDataURL(blob);
        return "#";
      };
      document.querySelector("[data-do=svg]").click();
      document.querySelector("[data-do=png]").click();
    """
    dom = opened(acted(page, keep), tmp_path, "#zoom=0,24ns")
    found = dict(re.findall(r'data-(svg|png)="[^"]*base64,([^"]+)"', dom))
    saved = {kind: base64.b64decode(text) for kind, text in found.items()}
    assert saved["png"].startswith(b"\x89PNG")
    picture = ET.fromstring(saved["svg"])
    tags = [element.tag.rpartition("}")[2] for element in picture.iter()]
    assert tags.count("rect") > 20
    texts = {
        "".join(element.itertext()) for element in picture.iter() if element.tag[-4:] == "text"
    }
    assert {"pcpu 0", "high", "remaining budgets", "20 ns"} <= texts
    assert (drawn(dom, "from"), drawn(dom, "to")) == (0, 24)
