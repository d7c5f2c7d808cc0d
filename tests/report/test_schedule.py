# SPDX-License-Identifier: BSD-2-Clause
"""A part of a schedule as a picture, and what is said of a run in which policies follow another."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from hyperperiod.cli import main

TOP = Path(__file__).parents[2]
HOT_SWAP = str(TOP / "systems" / "hot-swap.toml")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture
def trace(tmp_path: Path) -> str:
    file = str(tmp_path / "run.hpt")
    report = str(tmp_path / "run.html")
    done = run("simulate", HOT_SWAP, "--horizon", "2100ms", "--trace", file, "--report", report)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(
        "hot-swap under ptps, then wcps from 1s, then crps from 2s on sim"
    )
    return file


def texts(picture: Path) -> list[str]:
    tree = ET.parse(picture)
    return ["".join(one.itertext()) for one in tree.iter() if one.tag.endswith("}text")]


def test_a_part_of_the_run_is_drawn(trace: str, tmp_path: Path) -> None:
    picture = tmp_path / "part.svg"
    done = run("trace", "draw", trace, "--from", "1990ms", "--to", "2040ms", "--out", str(picture))
    assert done.exit_code == 0, done.output
    said = texts(picture)
    assert {"1990 ms", "2000", "2040", "control", "media", "crps"} <= set(said)
    assert "wcps" not in said
    # Boxes lie beside the names of rows and within the picture.
    places = [float(x) for x in re.findall(r'<rect x="([\d.]+)"', picture.read_text())]
    assert places
    assert all(128 <= x <= 800 for x in places)


def test_a_narrow_picture_keeps_its_text_inside_and_does_without_colour(
    trace: str, tmp_path: Path
) -> None:
    picture = tmp_path / "narrow.svg"
    part = ("--from", "1990ms", "--to", "2040ms", "--width", "85")
    done = run("trace", "draw", trace, *part, "--out", str(picture))
    assert done.exit_code == 0, done.output
    root = ET.parse(picture).getroot()
    width = int(root.attrib["width"])
    assert width == round(85 / 25.4 * 96), "85 mm"
    for one in root.iter("{http://www.w3.org/2000/svg}text"):
        text, anchor = "".join(one.itertext()), one.get("text-anchor", "start")
        length = 6.6 * len(text) / (2 if anchor == "middle" else 1)
        assert float(one.attrib["x"]) + length <= width + 1, text
    fills = {one.get("fill", "") for one in root.iter("{http://www.w3.org/2000/svg}rect")}
    assert any(fill.startswith("url(#h") for fill in fills), "time on another's budget is hatched"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--out", "x.png"), "--out: found 'x.png'; allowed: a name that ends in .svg"),
        (("--from", "3s", "--out", "x.svg"), "--from: found 3s; allowed: an instant before"),
        (("--width", "5", "--out", "x.svg"), "5 is not in the range 60<=x<=1000"),
        (("--from", "2ms", "--to", "1ms", "--out", "x.svg"), "--from: found 2ms; allowed: an"),
    ],
)
def test_what_cannot_be_drawn(
    options: tuple[str, ...],
    words: str,
    trace: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("trace", "draw", trace, *options)
    assert done.exit_code == 2
    assert words in done.stderr
    assert not list(tmp_path.glob("x.*"))


@pytest.mark.usefixtures("trace")
def test_a_report_names_every_policy_and_judges_each(tmp_path: Path) -> None:
    text = (tmp_path / "run.html").read_text()
    assert "<dd>ptps, then wcps from 1s, then crps from 2s</dd>" in text
    assert "Analysis: not decided under ptps, then wcps from 1s, then crps from 2s" in text
    assert "ptps: schedulable; wcps: schedulable; crps: schedulable." in text
    assert '"swaps": [[1000000000, "wcps"]' in text or '"swaps":[[1000000000,"wcps"]' in text
    assert run("analyze", HOT_SWAP).stdout.startswith("hot-swap under ptps, then wcps from 1s,")


def test_the_banner_of_an_explanation_is_a_whole_sentence(tmp_path: Path) -> None:
    file, page = tmp_path / "busy.toml", tmp_path / "why.html"
    name = "a-name-that-lets-the-first-line-end-early"
    file.write_text(
        f'name = "s"\npolicy = "ptps"\n[[domain]]\nname = "{name}"\n'
        'interface = { period = "10ms", budget = "1ms" }\n[[domain.task]]\nname = "t"\n'
        'period = "20ms"\nwcet = "5ms"\n'
    )
    run("analyze", str(file), "--explain", f"{name}.t", "--plot", str(page))
    banner = re.search(r"not guaranteed</b>\s*<p>(.*?)</p>", page.read_text(), re.DOTALL)
    assert banner is not None
    assert banner[1].startswith(f"{name}.t may not meet its deadline: ")
    first, *_ = run("analyze", str(file), "--explain", f"{name}.t").stdout.partition("task: wcet")
    assert " ".join(first.split()).endswith(banner[1].replace("&#39;", "'"))
