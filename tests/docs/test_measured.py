# SPDX-License-Identifier: BSD-2-Clause
"""Every measured number on a page is that of measured.toml; the file is as its writer writes it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from docs.measured import filled, shown, wrong

from hyperperiod import measured
from hyperperiod.cli import main
from hyperperiod.hosts.xen.run import ITEM_OVERHEAD_NS, JOB_OVERHEAD_NS
from hyperperiod.measured import FILE, Number, Section, keep, number, read, rounded, text_of

TOP = Path(__file__).parents[2]
PAGES = sorted([*TOP.glob("*.md"), *TOP.glob("docs/**/*.md")])
SECTIONS = {
    "a": Section("by a command", 'on "this"', {"one": Number(12345, "ns")}),
    "b": Section("by another", "on that", {"two, three": Number(0.25, "CPU s")}),
}


# -- the checker trips on what is wrong -----------------------------------------------------------


def test_a_number_that_differs_is_found_and_put_right() -> None:
    page = "takes **12,344**<!-- a: one --> ns or 0.25<!-- b: two, three --> s"
    assert list(wrong(page, SECTIONS)) == ["a: one: 12,344, measured 12,345"]
    right = page.replace("12,344", "12,345")
    assert filled(page, SECTIONS) == right
    assert list(wrong(right, SECTIONS)) == []


def test_a_number_that_nobody_measured_is_found() -> None:
    for name in ("a: two", "c: one"):
        assert list(wrong(f"1<!-- {name} -->", SECTIONS)) == [f"{name}: not in measured.toml"]


TABLE_PAGE = """\
<!-- measured {section}: - | {columns} | -{rows} -->

| row | number | aim |
| --- | --- | --- |
| *one* | **12,344** | 100 |
| 200 | | 1 |

Not a row: | 5 | 6 | 7 |
"""


def test_a_marker_names_the_numbers_of_a_table() -> None:
    page = TABLE_PAGE.format(section="a", columns="{}", rows="")
    assert list(wrong(page, SECTIONS)) == ["a: one: 12,344, measured 12,345"]
    assert filled(page, SECTIONS) == page.replace("12,344", "12,345")
    unknown = TABLE_PAGE.format(section="a", columns="{} more", rows="")
    assert list(wrong(unknown, SECTIONS)) == ["a: one more: not in measured.toml"]
    renamed = TABLE_PAGE.format(section="b", columns="two, {}", rows="\nrows: three; four")
    assert list(wrong(renamed, SECTIONS)) == ["b: two, three: 12,344, measured 0.25"]
    for broken in (TABLE_PAGE.replace("| *one*", "*one*"), TABLE_PAGE.replace("-->", "")):
        with pytest.raises(ValueError, match="not found"):
            shown(broken.format(section="a", columns="{}", rows=""))
    with pytest.raises(ValueError, match="zip"):
        shown(TABLE_PAGE.format(section="a", columns="{} | -", rows=""))


# -- the pages are right --------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_pages_show_what_was_measured(page: Path) -> None:
    assert list(wrong(page.read_text(), read())) == []


def test_the_pages_name_numbers() -> None:
    named = [one.section for page in PAGES for one in shown(page.read_text())]
    assert set(named) == set(read())
    assert len(named) > 100


# -- the file -------------------------------------------------------------------------------------


def test_the_file_is_as_it_is_written() -> None:
    assert text_of(read()) == FILE.read_text()
    for name, section in read().items():
        assert name in (*measured.HOSTS, *measured.BENCHMARKS)
        assert section.how == measured.command(name)
        assert section.on
        for one in section.numbers.values():
            assert rounded(one.value, one.unit) == one


def test_one_section_is_replaced_and_the_others_stay(tmp_path: Path) -> None:
    file = tmp_path / "measured.toml"
    file.write_text(text_of(SECTIONS))
    assert read(file) == SECTIONS
    other = Section("anew", "elsewhere", {"one": Number(7, "ns")})
    keep("a", other, file)
    assert read(file) == {**SECTIONS, "a": other}


def test_numbers_are_kept_to_what_they_are_worth() -> None:
    assert rounded(0.0123456, "CPU s") == (0.0123, "CPU s")
    assert str(rounded(11_123_456.7, "sets/s")) == "11,100,000"
    assert rounded(1234.4, "instructions") == (1234, "instructions")
    assert number("pick", "pick, ptps, 8 servers") > 0


# -- the command ----------------------------------------------------------------------------------


def test_what_is_missing_ends_with_3(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(measured, "CHECKOUT", None)
        done = CliRunner().invoke(main, ["doctor", "--measure", "start"])
        assert done.exit_code == 3
        assert "git clone" in done.output
    reason = "pick: skipped: valgrind is not installed (apt-get install valgrind)"
    skipped = subprocess.CompletedProcess([], measured.EXIT_SKIPPED, "", reason)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: skipped)
    done = CliRunner().invoke(main, ["doctor", "--measure", "pick"])
    assert done.exit_code == 3
    assert "apt-get install valgrind" in done.output


def test_keep_goes_with_measure() -> None:
    for arguments in (["--keep"], ["--measure", "start", "--write", "x.toml"]):
        done = CliRunner().invoke(main, ["doctor", *arguments])
        assert done.exit_code == 2
        assert "allowed: with --measure" in done.output


# -- what the executive leaves out of the loops of its jobs ---------------------------------------


def test_the_pages_say_what_the_executive_leaves_out() -> None:
    """These were counted by hand, with QEMU's log of instructions: they stand in its source."""
    source = (TOP / "guests/executive/executive.c").read_text()
    cost = {name: int(value) for name, value in re.findall(r"#define (\w+_COST) (\d+)u", source)}
    job, several = cost["JOB_COST"], cost["SHARED_JOB_COST"]
    item, sent = job + cost["ITEM_COST"], cost["SEND_COST"]
    guests = " ".join((TOP / "docs/xen/guests.md").read_text().split())
    assert f"{job} of them ({several} with several vcpus)" in guests
    channels = " ".join((TOP / "docs/xen/channels.md").read_text().split())
    assert (
        f"of each job {item} instructions are left out of the loop ({job} of any job), and"
        f" {sent:,} more"
    ) in channels
    assert job <= JOB_OVERHEAD_NS
    assert item + sent <= ITEM_OVERHEAD_NS
