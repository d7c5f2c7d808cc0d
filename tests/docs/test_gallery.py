# SPDX-License-Identifier: BSD-2-Clause
"""The gallery of reproduced figures is complete, and says what is measured.

What is measured in a second is measured again here; all of it in the slow tests.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from docs import gallery
from hyperperiod.papers import NAMES
from hyperperiod.papers.claim import MARKS
from hyperperiod.papers.printed import load_printed

PAGE = gallery.PAGE.read_text()
QUICK = (
    "latency-contention-2",
    "latency-interrupt",
    "rt-xen-fig1",
    "rt-xen-fig3",
    "rt-xen-fig5",
    "rt-xen-fig7",
    "exsched-fig7",
    "exsched-fig8",
    "exsched-table1",
    "exsched-table3",
)


def test_every_figure_is_there() -> None:
    parts = gallery.parts_of(PAGE)
    assert list(parts) == list(gallery.PARTS)
    for name, part in parts.items():
        assert part.text.startswith(f"## {name}\n")
        marked = [part.text.count(f"** ({mark}): ") for mark in MARKS.values()]
        assert sum(marked) == part.text.count("- found:") > 0
        assert part.claims == marked[0]
        assert part.holds == part.text.count("**holds** (the paper's): ")
        if name in NAMES:
            assert PAGE.index(f'<a href="#{name}"><img ') < PAGE.index("| in the paper")
            ET.fromstring(gallery.picture_of(name).read_text())


def test_all_that_a_command_measures_has_a_part() -> None:
    named = {gallery.part_name(one.run) for one in load_printed()} - {None}
    assert named == set(gallery.PARTS)


def test_the_page_is_made_of_its_parts() -> None:
    assert gallery.page_of(list(gallery.parts_of(PAGE).values())) == PAGE
    for one in load_printed():
        assert f"| {one.paper}, {one.place} | {one.about} |" in PAGE


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=[] if one in QUICK else pytest.mark.slow) for one in gallery.PARTS],
)
def test_what_it_says_is_what_is_measured(name: str) -> None:
    if name in gallery.LAB:
        assert gallery.lab_part(name) == gallery.parts_of(PAGE)[name]
        return
    figure = gallery.measure(name)
    assert gallery.part_of(name, figure) == gallery.parts_of(PAGE)[name]
    assert gallery.picture_of(name).read_text() == figure.picture


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(SystemExit, match="found 'csa-fig99'; allowed: csa-fig4"):
        gallery.main(["csa-fig99"])
