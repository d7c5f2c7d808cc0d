# SPDX-License-Identifier: BSD-2-Clause
"""Pictures and pages of explanations: every number of the object is in them, at its place."""

import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.support.browser import Page, opened

from hyperperiod.analysis import Analysis, analyze
from hyperperiod.analysis.explain_result import Explanation
from hyperperiod.model import InputError, load_system
from hyperperiod.report import explain_page, explain_picture
from hyperperiod.report.folding import ROWS

TOP = Path(__file__).parents[2]
EXAMPLE = TOP / "docs" / "examples" / "explain.toml"
SUBJECTS = ("brakes.fuse", "brakes.wheel", "plan.map", "log.send", "log", "brakes")


def found(name: str) -> Explanation:
    return Analysis(load_system(EXAMPLE)).explanation(name)


def words(picture: str) -> str:
    root = ET.fromstring(picture)
    return " ".join("".join(element.itertext()) for element in root.iter())


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_picture_shows_the_verdict_and_the_gap(name: str, tmp_path: Path) -> None:
    path = tmp_path / "why.svg"
    explain_picture(path, found(name), "system.toml")
    shown = words(path.read_text())
    assert name in shown
    for window in found(name).windows:
        if window.short_ns > 0:
            assert f"short by {window.short_ns // 1_000_000}" in shown


def test_the_crossing_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "why.svg"
    for name, text in (("brakes.wheel", "done at 14ms"), ("brakes.fuse", "only done at 55ms")):
        explain_picture(path, found(name), "system.toml")
        assert text in words(path.read_text())


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_page_is_complete_in_itself(name: str, tmp_path: Path) -> None:
    path = tmp_path / "why.html"
    explain_page(path, found(name), "system.toml")
    page = Page(path)
    assert page.open == []
    assert not [address for address in page.addresses if address]
    assert "Critical instant" in page.text
    assert name in page.text
    assert page.source.count("<svg") == 1


def test_a_long_breakdown_is_folded_and_complete(tmp_path: Path) -> None:
    tasks = "".join(
        f'[[domain.task]]\nname = "t{at}"\nperiod = "{100 + at}ms"\nwcet = "1ms"\n'
        for at in range(40)
    )
    system = tmp_path / "long.toml"
    interface = 'interface = { period = "10ms", budget = "9ms" }'
    system.write_text(f'name = "x"\npolicy = "ds"\n[[domain]]\nname = "d"\n{interface}\n{tasks}')
    explained = Analysis(load_system(system)).explanation("d.t39")
    path = tmp_path / "why.html"
    explain_page(path, explained, "system.toml")
    shares = explained.windows[0].shares
    assert len(shares) > 30
    page = Page(path)
    assert page.open == []
    hidden = page.source.count('<tr class="more">')
    assert hidden == sum(len(one.shares) - ROWS for one in explained.windows)
    assert all(share.who in page.text for share in shares)


@pytest.mark.parametrize(
    ("policy", "scheduler", "name", "legend"),
    [
        ("periodic+edf+none+global", "edf", "d", "what the bound allows"),
        ("periodic+edf+none+global", "gedf", "d.t", "of all vcpus together"),
        ("deferrable+edf+none+global", "edf", "d.0", "others at their most"),
    ],
)
def test_pictures_on_several_pcpus(
    policy: str, scheduler: str, name: str, legend: str, tmp_path: Path
) -> None:
    """Three vcpus on two pcpus, so that no server is alone."""
    pinned = "" if scheduler == "gedf" else "vcpu = 0"
    system = tmp_path / "wide.toml"
    system.write_text(
        f'name = "x"\npolicy = "{policy}"\npcpus = 2\n'
        f'[[domain]]\nname = "d"\nvcpus = 3\nscheduler = "{scheduler}"\n'
        'interface = { period = "10ms", budget = "4ms" }\n'
        f'[[domain.task]]\nname = "t"\nperiod = "80ms"\nwcet = "4ms"\n{pinned}\n'
    )
    explained = analyze(load_system(system), explain=name).explain
    assert explained is not None
    path = tmp_path / "why.svg"
    explain_picture(path, explained, "wide.toml")
    assert explained.schedulable is True
    assert legend in words(path.read_text())


@pytest.mark.skipif(shutil.which("chromium") is None, reason="apt-get install chromium")
def test_a_browser_opens_it(tmp_path: Path) -> None:
    path = tmp_path / "why.html"
    explain_page(path, found("brakes.fuse"), "system.toml")
    assert "short by 5ms" in opened(path, tmp_path)


def test_nothing_to_draw_is_an_error(tmp_path: Path) -> None:
    nothing = found("log").replace(reason="best effort", curves=None)
    with pytest.raises(InputError, match="best effort"):
        explain_picture(tmp_path / "why.svg", nothing, "system.toml")


@pytest.mark.parametrize("name", ["brakes.fuse", "plan.map", "log.send", "log"])
def test_the_pictures_of_the_documentation(name: str, tmp_path: Path) -> None:
    path = tmp_path / "why.svg"
    explain_picture(path, found(name), "system.toml")
    kept = TOP / "docs" / "pictures" / f"explain-{name.replace('.', '-')}.svg"
    assert kept.read_text() == path.read_text(), f"hyperperiod analyze ... --plot {kept}"
