# SPDX-License-Identifier: BSD-2-Clause
"""A real browser opens the report: no errors, the timeline is drawn, and it moves."""

import base64
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.support import sample_report as sample
from tests.support.browser import acted, drawn, needs_browser, opened
from tests.support.sample_report import late_page

from hyperperiod.analysis import Analysis, analyze
from hyperperiod.model import load_system, parse_policy, with_policy
from hyperperiod.report import compare_report, explain_page, write_report
from hyperperiod.report import windows as windows_module
from hyperperiod.runs import simulate
from hyperperiod.trace.format import Header, Kind, Records, read
from hyperperiod.trace.intervals import intervals
from hyperperiod.trace.items import visits
from hyperperiod.trace.jobs import Job, jobs

pytestmark = needs_browser
SYSTEMS = Path(__file__).parents[2] / "systems"
SAVE = """
  const kept = document.body.dataset;
  const Plain = Blob;
  Blob = function ([text], of) {
    kept.svg = `base64,${btoa(unescape(encodeURIComponent(text)))}`;
    return new Plain([text], of);
  };
  HTMLCanvasElement.prototype.toBlob = function (take) {
    kept.png = this.toDataURL();
    take(new Plain([]));
  };
  URL.createObjectURL = () => "#";
  document.querySelector("[data-do=svg]").click();
  document.querySelector("[data-do=png]").click();
"""


def saved(dom: str) -> dict[str, bytes]:
    """The pictures that a page has saved, by kind: svg and png."""
    found = re.findall(r'data-(svg|png)="[^"]*base64,([^"]+)"', dom)
    return {kind: base64.b64decode(text) for kind, text in found}


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


def test_between_windows_columns_say_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, header, records, found = overloaded(tmp_path, monkeypatch)
    point = """
      const canvas = document.getElementById("timeline");
      const box = canvas.getBoundingClientRect();
      setTimeout(() => {
        const tell = (top) => {
          canvas.dispatchEvent(new PointerEvent("pointermove",
            { clientX: box.left + 600, clientY: box.top + top }));
          return document.getElementById("tip").textContent;
        };
        const near = [70, 130, 270].map(tell);
        canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "0" }));
        document.title = [...near, tell(270), tell(70)].join("; ");
      }, 500);
    """
    dom = opened(acted(page, point), tmp_path, "#zoom=5s,5.025s")
    title = re.search(r"<title>(.*?); (.*?); (.*?); (.*?); .*%(\d+) switches", dom)
    assert title is not None
    pcpu, server, task, joined, switches = title.groups()
    assert re.match(r"pcpu 0(control|video): \d+ %.*\d+ switches5\.\d+ s to", pcpu)
    assert re.match(
        r"controlpaid (under )?\d+ % of this timeits budget is \d\d %5\.\d+ s to", server
    )
    assert re.match(r"video · frame(✗ 1|no deadline) missed(longest|no job)", task)
    assert drawn(dom, "shapes") > 20
    said = re.match(
        r"video · frame✗ (\d+) missedlongest response at most ([\d.]+) ms([\d.]+) s to ([\d.]+) s",
        joined,
    )
    assert said is not None
    late, most_ms, start_s, end_s = map(float, said.groups())
    start_ns, end_ns = round(start_s * 1e9), round(end_s * 1e9)
    assert late == sum(start_ns <= missed_ns(job) < end_ns for job in found)
    rows = list(intervals(header, records))
    changes = [after.start_ns for before, after in pairwise(rows) if before.run != after.run]
    assert int(switches) == sum(start_ns <= time_ns < end_ns for time_ns in changes) > 2
    longest_ns = max(
        job.finish_ns - job.release_ns
        for job in found
        if job.finish_ns is not None and start_ns <= job.finish_ns < end_ns
    )
    assert longest_ns <= most_ms * 1e6 < longest_ns * 1.11


def test_each_miss_is_gone_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, _, _, found = overloaded(tmp_path, monkeypatch)
    walk = """
      const canvas = document.getElementById("timeline");
      const about = document.getElementById("about");
      setTimeout(() => {
        const said = [];
        do {
          said.push(about.textContent);
          canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "n" }));
        } while (about.textContent !== said[said.length - 1]);
        document.title = said.slice(1).join("| ");
      }, 500);
    """
    title = re.search(r"<title>(.*?)</title>", opened(acted(page, walk), tmp_path))
    assert title is not None
    late = {job.job for job in found if missed_ns(job) > 0}
    shown = {int(number) for number in re.findall(r"video\.frame, job (\d+)", title[1])}
    in_columns = [int(count) for count in re.findall(r": (\d+) of video\.frame", title[1])]
    assert shown
    assert shown < late
    assert len(shown) + sum(in_columns) == len(late)
    assert min(late) in shown


def overloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Header, Records, list[Job]]:
    """The page of a run whose middle is in columns, and its trace with the jobs that are late."""
    monkeypatch.setattr(windows_module, "START", 1000)
    monkeypatch.setattr(windows_module, "RECORDS", 1000)
    trace, page = tmp_path / "overload.hpt", tmp_path / "overload.html"
    system = load_system(SYSTEMS / "overload.toml")
    result = simulate(system, 10_000_000_000, trace_path=trace)
    write_report(page, system, analyze(system), result, trace)
    header, records = read(trace)
    return page, header, records, [job for job in jobs(header, records) if job.task == "frame"]


def missed_ns(job: Job, end_ns: int = 10_000_000_000) -> int:
    """The deadline (ns) that a job of a run until `end_ns` missed; -1 if it did not."""
    finish_ns = end_ns + 1 if job.finish_ns is None else job.finish_ns
    late = job.deadline_ns is not None and job.deadline_ns < min(finish_ns, end_ns + 1)
    return job.deadline_ns or -1 if late else -1


@pytest.mark.slow
def test_frames_of_ten_million_records_are_short(tmp_path: Path) -> None:
    """60 in a second while the view moves: the best of five of each frame, for busy machines."""
    trace, page = tmp_path / "long.hpt", tmp_path / "long.html"
    system = load_system(SYSTEMS / "flight-control.toml")
    result = simulate(system, 2_400_000_000_000, trace_path=trace)
    assert trace.stat().st_size > 32 * 10_000_000
    write_report(page, system, analyze(system), result, trace)
    assert page.stat().st_size < 2_000_000
    measure = """
      const canvas = document.getElementById("timeline");
      const took = (key) => {
        const start = performance.now();
        canvas.dispatchEvent(new KeyboardEvent("keydown", { key }));
        return performance.now() - start;
      };
      const views = ["0", ...Array(24).fill("+")].map((key) => [took(key), ...Array(2).fill(
        ["ArrowRight", "ArrowLeft"]).flat().map(took)]);
      const best = views.map((times) => Math.min(...times)).sort((a, b) => a - b);
      document.title = `${best[12]} ${best[24]}`;
    """
    dom = opened(acted(page, measure), tmp_path, real_time=True)
    title = re.search(r"<title>([\d.]+) ([\d.]+)</title>", dom)
    assert title is not None
    median_ms, longest_ms = map(float, title.groups())
    print(f"{page.stat().st_size} bytes; a frame: {median_ms:.1f} ms, at most {longest_ms:.1f} ms")
    assert 0 < median_ms < 1000 / 60


def test_misses_jobs_and_events_are_gone_through_and_a_span_is_measured(tmp_path: Path) -> None:
    trace, page = tmp_path / "overload.hpt", tmp_path / "overload.html"
    system = load_system(SYSTEMS / "overload.toml")
    result = simulate(system, 1_000_000_000, trace_path=trace)
    write_report(page, system, analyze(system), result, trace)
    act = """
      const canvas = document.getElementById("timeline");
      const said = [];
      const tell = () => said.push(document.getElementById("about").textContent);
      const press = (keys, options = {}) => keys.split(" ").forEach((key) =>
        canvas.dispatchEvent(new KeyboardEvent("keydown", { key, ...options })));
      const point = (kind, clientX, clientY, shiftKey = false) =>
        canvas.dispatchEvent(new PointerEvent(kind, { clientX, clientY, shiftKey, pointerId: 1 }));
      canvas.setPointerCapture = () => {};
      setTimeout(() => {
        press("n n n"); tell();
        press("p"); tell();
        document.querySelector("[data-do=worst]").click(); tell();
        location.hash = "#zoom=0,200ms";
        dispatchEvent(new HashChangeEvent("hashchange"));
        press(Array(5).fill("ArrowRight").join(" "), { shiftKey: true }); tell();
        const box = canvas.getBoundingClientRect();
        const [left, top] = [(share) => box.left + 176 + (box.width - 182) * share, box.top + 268];
        point("pointerdown", left(0.13), top); point("pointerup", left(0.13), top); tell();
        document.querySelector("#about a").click();
        said.push(document.querySelector("#about a").textContent, `${canvas.dataset.from}`,
          `${canvas.dataset.to}`, document.getElementById("span").textContent);
        document.querySelector("[data-do=fit]").click();
        location.hash = "#zoom=0,200ms";
        dispatchEvent(new HashChangeEvent("hashchange"));
        point("pointerdown", left(0.25), top, true); point("pointermove", left(0.75), top, true);
        point("pointerup", left(0.75), top, true);
        document.title = said.join("| ");
      }, 500);
    """
    dom = opened(acted(page, act), tmp_path)
    title = re.search(r"<title>(.*?)</title>", dom)
    assert title is not None
    third, second, worst, event, clicked, holder, start, end, span = title[1].split("| ")
    assert third == (
        "video.frame, job 2: 58 ms from 80 ms on. It ran 18 ms in 5 pieces; meanwhile on its pcpu:"
        " control.loop 30 ms, idle 6 ms, its other jobs 4 ms."
    )
    assert second.startswith("video.frame, job 1: ")
    assert worst.startswith("video.frame, job 21: 150 ms ")
    assert event == "16 ms (2 ms from the last): pcpu 0: video.frame"
    assert clicked.startswith("video.frame, job 0: 48 ms from 0 on. It ran 18 ms in ")
    assert (holder, int(start), int(end)) == ("control.loop", 0, 18_000_000)
    assert span.endswith(": video.frame, job 0")
    assert drawn(dom, "measured") == 100_000_000
    assert (drawn(dom, "from"), drawn(dom, "to")) == (0, 200_000_000)


def test_arrows_go_from_hop_to_hop_and_a_click_marks_those_of_an_item(tmp_path: Path) -> None:
    """As many as items that reached another hop in the view; an item with three hops has two.

    Where there are too many, only those of the item that was clicked on are drawn.
    """
    trace, page = tmp_path / "flows.hpt", tmp_path / "flows.html"
    system, end_ns = load_system(SYSTEMS / "packet-path.toml"), 120_000_000
    write_report(page, system, analyze(system), simulate(system, end_ns, trace_path=trace), trace)
    came = [
        record.time_ns
        for record, item in visits(read(trace)[1])
        if record.kind == Kind.ITEM and item.hop > 0
    ]
    act = """
      const canvas = document.getElementById("timeline");
      canvas.setPointerCapture = () => {};
      setTimeout(() => {
        const box = canvas.getBoundingClientRect();
        const at = { clientX: box.left + 176 + (box.width - 182) * 0.29, clientY: box.top + 350 };
        for (const kind of ["pointerdown", "pointerup"])
          canvas.dispatchEvent(new PointerEvent(kind, { ...at, pointerId: 1 }));
        document.title = document.getElementById("about").textContent;
      }, 300);
      setTimeout(() => {
    """
    for until_ns, are_few in ((8_000_000, True), (end_ns, False)):
        dom = opened(acted(page, f"{act}{SAVE}}}, 600);"), tmp_path, f"#zoom=0,{until_ns}ns")
        asked, others = (
            saved(dom)["svg"].decode().count(f'stroke-width="{width}"') for width in (2.4, 1.2)
        )
        reached = sum(time_ns <= until_ns for time_ns in came)
        assert (reached > 60) is not are_few
        assert (asked, others) == (2, reached - 2 if are_few else 0)
        assert re.search(r"<title>control.law, job \d+: .* It is hop 2 of item \d+ of command", dom)


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


def test_keys_of_a_legend_switch_their_curves(tmp_path: Path) -> None:
    """By pointer and keyboard, in all charts of a section and nowhere else; a page has all first.

    The legend of a comparison stands beside charts, that of an explanation is in its picture.
    """
    compared, explained = tmp_path / "compare.html", tmp_path / "explain.html"
    results = [sample.result("ptps"), sample.result("crps")]
    compare_report(compared, results, [sample.trace(tmp_path)] * 2)
    found = Analysis(load_system(SYSTEMS.parent / "docs/examples/explain.toml"))
    explain_page(explained, found.explanation("log.send"), "explain.toml")
    for page, within, curves in ((compared, "#each-task", 4), (explained, "svg.lines", 2)):
        act = f"""
          const place = document.querySelector("{within}");
          const [first, second] = place.querySelectorAll("[data-key]");
          const shown = () => [...document.querySelectorAll("[data-curve]")]
            .filter((curve) => curve.checkVisibility()).length;
          const all = document.querySelectorAll("[data-curve]").length;
          const said = [place.querySelectorAll("[data-curve]").length, all - shown()];
          const press = (key) => second.dispatchEvent(new KeyboardEvent("keydown", {{ key }}));
          first.dispatchEvent(new Event("click"));
          said.push(all - shown(), first.getAttribute("aria-pressed"));
          for (const key of ["Enter", "Tab", " "]) {{ press(key); said.push(all - shown()); }}
          document.title = said.join(" ");
        """
        title = re.search(r"<title>(.*?)</title>", opened(acted(page, act), tmp_path))
        assert title is not None
        each = curves // 2
        assert title[1] == f"{curves} 0 {each} false {curves} {curves} {each}"


def test_each_difference_of_two_runs_is_gone_to_and_marked(tmp_path: Path) -> None:
    """The instants are those of the schedules and jobs that `trace` reads from both runs."""
    system, horizon_ns = load_system(SYSTEMS / "overload.toml"), 400_000_000
    traces = [tmp_path / f"{policy}.hpt" for policy in ("ptps", "crps")]
    results = [
        simulate(with_policy(system, parse_policy(trace.stem)), horizon_ns, trace_path=trace)
        for trace in traces
    ]
    page = tmp_path / "compare.html"
    compare_report(page, results, traces)
    opposed = [read(trace) for trace in traces]
    rows = [list(intervals(*one)) for one in opposed]
    bounds = sorted({end for own in rows for row in own for end in (row.start_ns, row.end_ns)})
    who = [
        [next(row.run for row in own if row.start_ns <= at < row.end_ns) for own in rows]
        for at in bounds[:-1]
    ]
    differ = [False, *(one != other for one, other in who)]
    found = {
        at for at, (before, now) in zip(bounds, pairwise(differ), strict=False) if now > before
    }
    grave = 0
    for one, other in zip(*(jobs(*one) for one in opposed), strict=True):
        ends = [job.finish_ns or horizon_ns for job in (one, other)]
        if one.finish_ns != other.finish_ns:
            found.add(min(ends))
        grave += len({missed_ns(job, horizon_ns) for job in (one, other)}) > 1
    go = """
      const canvas = document.getElementById("timeline");
      const seen = [];
      canvas.addEventListener("instant", ({ detail }) => seen.push(detail));
      const press = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key }));
      for (let at = 0; at < 1000; at += 1) press("d");
      document.title = seen.join(" ");
      const about = document.getElementById("about").textContent;
      press("D");
      document.body.dataset.back = seen.indexOf(seen.at(-1)) === seen.length - 3;
      press("Escape"); press("0");
      document.body.dataset.last = about;
    """
    dom = opened(acted(page, go + SAVE), tmp_path, "#zoom=0,400ms")
    title = re.search(r"<title>([\d ]+)</title>", dom)
    assert title is not None
    assert [int(word) for word in title[1].split()] == sorted(found)
    assert len(found) > 20
    assert grave > 5
    bad = re.search(r"--bad: (#\w+)", page.read_text())
    assert bad is not None
    assert saved(dom)["svg"].count(f'height="3" fill="{bad[1]}"'.encode()) == grave
    assert 'data-back="true"' in dom
    assert re.search(r'data-last="[^"]*pcpu 0: [\w.]+ with crps, [\w.]+ with ptps', dom)


def test_rows_of_all_runs_stay_together_and_a_difference_brings_its_own(tmp_path: Path) -> None:
    """Two tasks of ten are shown at first, in rows of three runs, then the one that differs.

    The whole run is too long for a difference of a job to be seen: the view gets shorter.
    """
    system, policies = load_system(SYSTEMS / "flight-control.toml"), ("ptps", "wcps", "crps")
    traces = [tmp_path / f"{policy}.hpt" for policy in policies]
    results = [
        simulate(with_policy(system, parse_policy(trace.stem)), 10**9, trace_path=trace)
        for trace in traces
    ]
    page = tmp_path / "compare.html"
    compare_report(page, results, traces)
    go = """
      const canvas = document.getElementById("timeline");
      const press = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key }));
      press("0");
      const about = document.getElementById("about");
      const isShown = () => /displays.primary-display, job/.test(about.textContent);
      for (let at = 0; at < 300 && !isShown(); at += 1) press("d");
    """
    before = "".join(ET.fromstring(saved(opened(acted(page, SAVE), tmp_path))["svg"]).itertext())
    dom = opened(acted(page, go + SAVE), tmp_path)
    after = "".join(ET.fromstring(saved(dom)["svg"]).itertext())
    for text in (before, after):
        assert "tasks: 6 of 30" in text
        assert all(text.count(f"pcpu 0\n{policy}\n") == 1 for policy in policies)
    rows = [f"primary-display\n{policy} · displays\n" for policy in policies]
    assert not any(row in before for row in rows)
    assert all(row in after for row in rows)
    assert drawn(dom, "to") - drawn(dom, "from") < 200_000_000


def test_numbers_of_a_comparison_lead_to_the_job_of_their_own_run(tmp_path: Path) -> None:
    """A number does so also where longest responses of several runs are seen in the same view."""
    system = load_system(SYSTEMS / "overload.toml")
    traces = [tmp_path / f"{policy}.hpt" for policy in ("ptps", "crps")]
    results = [
        simulate(with_policy(system, parse_policy(trace.stem)), 10**9, trace_path=trace)
        for trace in traces
    ]
    page = tmp_path / "compare.html"
    compare_report(page, results, traces)
    follow = """
      const said = [];
      for (const link of document.querySelectorAll('#tasks a[title^="show the longest"]')) {
        link.click();
        said.push(document.getElementById("span").textContent.replace(/, at.*/, ""),
          document.getElementById("windows").selectedOptions[0].text.replace(/, at.*/, ""));
      }
      document.title = said.join("| ");
    """
    title = re.search(r"<title>(.*?)</title>", opened(acted(page, follow), tmp_path))
    assert title is not None
    of_loop = [f"{policy}: longest response of control.loop" for policy in ("ptps", "crps")]
    shown = [f"0 to 30 ms: {of_loop[0]}", of_loop[0], f"0 to 30 ms: {of_loop[1]}", of_loop[1]]
    assert title[1].split("| ")[:4] == shown
    assert title[1].count("of video.frame") == 4


def test_rows_of_what_is_asked_for_are_shown_however_many_runs_there_are(tmp_path: Path) -> None:
    """Five runs leave a row of one task each, which is not the first one of its domain."""
    system, policies = (
        load_system(SYSTEMS / "packet-path.toml"),
        ["ptps", "wcps", "crps", "ds", "polling"],
    )
    traces = [tmp_path / f"{policy}.hpt" for policy in policies]
    results = [
        simulate(with_policy(system, parse_policy(trace.stem)), 200_000_000, trace_path=trace)
        for trace in traces
    ]
    page = tmp_path / "compare.html"
    compare_report(page, results, traces)
    for title, names in (
        ("crps: longest response of control.log", ["log"]),
        ("crps: longest response of flow command", ["receive", "law", "send"]),
    ):
        follow = f"""
          const link = document.querySelector('#tasks a[data-moment^="{title},"]');
          link.click();
        """
        svg = saved(opened(acted(page, follow + SAVE), tmp_path))["svg"]
        text = "".join(ET.fromstring(svg).itertext())
        assert f"tasks: {len(names) * 5} of 30" in text
        assert all(re.search(rf"\n{name}\n{policies[0]} ·", text) for name in names)
        assert (svg.count(b'stroke-width="2.4"') == 2) is (len(names) == 3)


def test_what_is_shown_is_saved_as_svg_and_png(page: Path, tmp_path: Path) -> None:
    dom = opened(acted(page, SAVE), tmp_path, "#zoom=0,24ns")
    assert saved(dom)["png"].startswith(b"\x89PNG")
    picture = ET.fromstring(saved(dom)["svg"])
    tags = [element.tag.rpartition("}")[2] for element in picture.iter()]
    assert tags.count("rect") > 20
    texts = {
        "".join(element.itertext()) for element in picture.iter() if element.tag[-4:] == "text"
    }
    assert {"pcpu 0", "high", "remaining budgets", "20 ns"} <= texts
    assert (drawn(dom, "from"), drawn(dom, "to")) == (0, 24)
