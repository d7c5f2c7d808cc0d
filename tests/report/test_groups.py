# SPDX-License-Identifier: BSD-2-Clause
"""Bars and boxes in groups: well-formed pictures in which every mark is as high as its value."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from hyperperiod.report.frame import Scale
from hyperperiod.report.groups import GroupChart, GroupDrawing, Mark, MarkGroup, group_svg

SVG = "{http://www.w3.org/2000/svg}"


def chart(*groups: MarkGroup, ruler: float | None = None, y_max: float | None = None) -> GroupChart:
    return GroupChart("title", Scale("events"), ["one", "two"], groups, ruler=ruler, y_max=y_max)


def test_a_bar_is_as_high_as_its_value() -> None:
    found = chart(
        MarkGroup("a", [Mark(50.0), Mark(100.0, 90.0, 110.0)]), MarkGroup("b", [Mark(0.0)])
    )
    drawing = GroupDrawing(found)
    root = ET.fromstring(group_svg(found))
    colors = {one.color for one in drawing.marks}
    bars = [
        float(one.get("height", ""))
        for one in root.iter(f"{SVG}rect")
        if one.get("fill") in colors and float(one.get("height", "")) != 11
    ]
    assert bars[1] == pytest.approx(2 * bars[0])
    assert bars[2] == 0
    whisker = re.search(r"M\S+ (\S+)h8m-4 0V([0-9.]+)m", group_svg(found))
    assert whisker is not None
    assert [float(end) for end in whisker.groups()] == [drawing.y(90.0), drawing.y(110.0)]


def test_a_box_has_its_quartiles_median_whiskers_and_ends() -> None:
    mark = Mark(3.0, 1.0, 6.0, (2.0, 4.0), (0.5, 9.0))
    found = chart(MarkGroup("a", [mark]), ruler=1.0, y_max=10.0)
    drawing, text = GroupDrawing(found), group_svg(found)
    for value in (3.0, 1.0, 6.0, 2.0, 4.0):
        assert str(drawing.y(value)) in text
    dots = re.findall(r'<circle cx="[^"]+" cy="([^"]+)"', text)
    assert [float(dot) for dot in dots] == [drawing.y(0.5), drawing.y(9.0)]
    assert f'y1="{drawing.y(1.0)}"' in text
    ET.fromstring(text)


def test_marks_stand_in_their_groups_in_order() -> None:
    groups = [MarkGroup(name, [Mark(1.0), Mark(None), Mark(2.0)]) for name in "abc"]
    found = GroupChart("title", Scale("x"), ["one", "two", "three"], groups)
    drawing = GroupDrawing(found)
    places = [one.x for one in drawing.marks]
    assert len(places) == 6
    assert places == sorted(places)
    middles = [x for x, _ in drawing.names]
    for at, middle in enumerate(middles):
        left, right = places[2 * at : 2 * at + 2]
        assert left < middle < right
    assert drawing.marks[0].color != drawing.marks[1].color
    assert drawing.marks[0].color == drawing.marks[2].color


def test_without_values_there_is_a_picture() -> None:
    ET.fromstring(group_svg(chart()))
    ET.fromstring(group_svg(chart(MarkGroup("a", [Mark(None), Mark(None)]))))
