# SPDX-License-Identifier: BSD-2-Clause
"""The gallery of reproduced figures is complete, and says what is measured.

What is measured in a second is measured again here; all of it in the slow tests.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from docs import gallery
from hyperperiod.experiments.reproduce import NAMES
from hyperperiod.experiments.reproduce.printed import load_printed

PAGE = gallery.PAGE.read_text()
QUICK = ("rt-xen-fig1", "exsched-fig7", "exsched-fig8", "exsched-table1", "exsched-table3")


def test_every_figure_is_there() -> None:
    parts = gallery.parts_of(PAGE)
    assert list(parts) == list(NAMES)
    for name, part in parts.items():
        assert part.text.startswith(f"## {name}\n")
        assert (part.text.count("**holds**"), part.claims) == (
            part.holds,
            part.text.count("- found:"),
        )
        assert part.claims > 0
        ET.fromstring(gallery.picture_of(name).read_text())


def test_the_page_is_made_of_its_parts() -> None:
    assert gallery.page_of(list(gallery.parts_of(PAGE).values())) == PAGE
    for one in load_printed():
        assert f"| {one.paper}, {one.place} | {one.about} |" in PAGE


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[] if one in QUICK else pytest.mark.slow) for one in NAMES]
)
def test_what_it_says_is_what_is_measured(name: str) -> None:
    figure = gallery.measure(name)
    assert gallery.part_of(name, figure) == gallery.parts_of(PAGE)[name]
    assert gallery.picture_of(name).read_text() == figure.picture


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(SystemExit, match="found 'csa-fig99'; allowed: csa-fig4"):
        gallery.main(["csa-fig99"])
