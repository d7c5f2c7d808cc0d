# SPDX-License-Identifier: BSD-2-Clause
"""Line charts: well-formed pictures in which everything stands where its values say."""

import itertools
import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperperiod.report.frame import ACCEPTED, Scale, time_scale
from hyperperiod.report.lines import Band, Dot, Drawing, Gap, LineChart, LineSeries, Ruler, line_svg

SVG = "{http://www.w3.org/2000/svg}"
PLAIN = Scale("load")


def elements(chart: LineChart, tag: str, of_class: str) -> list[ET.Element]:
    root = ET.fromstring(line_svg(chart))
    return [one for one in root.iter(f"{SVG}{tag}") if of_class in (one.get("class") or "").split()]


def texts(chart: LineChart) -> list[str]:
    root = ET.fromstring(line_svg(chart))
    return ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]


def chart_of(*curves: LineSeries, **more: object) -> LineChart:
    return LineChart("a title", PLAIN, ACCEPTED, curves, **more)  # type: ignore[arg-type]


def places(path: str) -> Iterator[float]:
    yield from (float(number) for number in re.findall(r"-?[0-9.]+", path))


def test_every_curve_has_a_path_and_a_name() -> None:
    curves = [LineSeries(f"test {number}", [(0, 1), (1, 0)]) for number in range(9)]
    chart = chart_of(*curves)
    lines = elements(chart, "path", "curve")
    looks = {(line.get("stroke"), line.get("stroke-dasharray")) for line in lines}
    assert len(looks) == 9, "each line looks different"
    assert [f"test {number}" for number in range(9)] == [
        text for text in texts(chart) if text.startswith("test")
    ]
    keys = Drawing(chart).frame.keys
    assert all(key.x < chart.width - 60 for key in keys)
    assert len({key.y for key in keys}) > 1, "nine names need more than one row"


def test_a_staircase_stays_level_and_then_jumps() -> None:
    chart = chart_of(LineSeries("demand", [(0, 0.5), (2, 1), (4, 1)], steps=True))
    drawing = Drawing(chart)
    (path,) = elements(chart, "path", "curve")
    assert path.get("d") == (
        f"M{drawing.x(0)} {drawing.y(0.5)}H{drawing.x(2)}V{drawing.y(1)}"
        f"H{drawing.x(4)}V{drawing.y(1)}"
    )


def test_ticks_are_round_in_the_unit_that_is_shown() -> None:
    ms = 1_000_000
    scale = time_scale("window", 50 * ms)
    assert scale == Scale("window", "ms", ms)
    chart = LineChart("t", scale, ACCEPTED, [LineSeries("c", [(0, 0), (50 * ms, 1)])])
    assert [text for _, text in Drawing(chart).x_ticks] == ["0", "10", "20", "30", "40", "50"]
    assert [text for _, text in Drawing(chart).y_ticks] == ["0", "20", "40", "60", "80", "100"]


def test_equal_ratios_are_equally_far_apart_on_a_logarithmic_axis() -> None:
    us = 1_000
    curve = LineSeries("c", [(0, 0), (50 * us, 1)], steps=True)
    scale = time_scale("waited", 50 * us)
    drawing = Drawing(LineChart("t", scale, ACCEPTED, [curve], x_min=5, x_max=50_000, x_log=True))
    places = [drawing.x(time_ns) for time_ns in (5, 50, 500, 5_000, 50_000)]
    assert [after - before for before, after in itertools.pairwise(places)] == [
        pytest.approx((drawing.frame.right - 64) / 4, abs=0.02)
    ] * 4
    assert drawing.x(0) == places[0]
    assert [text for _, text in drawing.x_ticks] == ["0.01", "0.1", "1", "10"]
    assert drawing.x_ticks[2][0] == drawing.x(1_000)
    few = Drawing(LineChart("t", scale, ACCEPTED, [curve], x_min=900, x_max=60_000, x_log=True))
    assert [text for _, text in few.x_ticks] == ["1", "2", "5", "10", "20", "50"]


@pytest.mark.parametrize(
    ("max_ns", "unit"), [(0, "ns"), (999, "ns"), (1000, "µs"), (10**6, "ms"), (5 * 10**9, "s")]
)
def test_the_unit_suits_the_largest_time(max_ns: int, unit: str) -> None:
    assert time_scale("x", max_ns).unit == unit


def test_ticks_of_very_long_times_fit_beside_the_axis() -> None:
    """Times up to 2^62 ns, in seconds."""
    scale = time_scale("t", 2**62)
    chart = LineChart("t", scale, scale, [LineSeries("c", [(0.0, 0.0), (2.0**62, 2.0**62)])])
    assert [text for _, text in Drawing(chart).y_ticks] == ["0", "1e9", "2e9", "3e9", "4e9"]


def test_marks_stand_where_their_values_are() -> None:
    chart = chart_of(
        LineSeries("c", [(0, 0), (10, 1)]),
        dots=[Dot(5, 0.5, "crossing", "good")],
        gaps=[Gap(8, 0.2, 0.8, "short by 0.6")],
        rulers=[Ruler(9, "deadline")],
        bands=[Band(0, 2, "blackout")],
        subtitle="below the title",
    )
    drawing = Drawing(chart)
    (dot,) = elements(chart, "circle", "dot")
    assert (dot.get("cx"), dot.get("cy")) == (str(drawing.x(5)), str(drawing.y(0.5)))
    (gap,) = elements(chart, "line", "gap")
    assert (gap.get("y1"), gap.get("y2")) == (str(drawing.y(0.2)), str(drawing.y(0.8)))
    (ruler,) = elements(chart, "line", "ruler")
    assert ruler.get("x1") == ruler.get("x2") == str(drawing.x(9))
    (band,) = elements(chart, "rect", "band")
    assert float(band.get("width") or 0) == pytest.approx(drawing.x(2) - drawing.x(0))
    shown = texts(chart)
    assert {"crossing", "short by 0.6", "deadline", "blackout", "below the title"} <= set(shown)


def test_whiskers_reach_as_far_as_the_intervals() -> None:
    curve = LineSeries("measured", [(1.0, 4.0)], whiskers=[(1.0, 3.0, 6.0)])
    chart = LineChart("intervals", PLAIN, Scale("response"), [curve], x_max=2.0, y_max=8.0)
    drawing = Drawing(chart)
    ((x, low, high, *_),) = drawing.whiskers
    assert (x, low, high) == (drawing.x(1.0), drawing.y(3.0), drawing.y(6.0))
    assert f"M{x - 4} {low}h8m-4 0V{high}" in line_svg(chart)


def test_the_plot_has_room_for_whiskers_from_its_axis_on() -> None:
    curve = LineSeries("measured", [(1.0, 4.0)], whiskers=[(1.0, -3.0, 9.0)])
    drawing = Drawing(LineChart("intervals", PLAIN, Scale("response"), [curve], x_max=2.0))
    ((_, low, high, *_),) = drawing.whiskers
    assert (low, high) == (drawing.frame.bottom, drawing.y(9.0))
    assert high > drawing.frame.top


def test_places_have_names_beside_the_axis() -> None:
    curves = [LineSeries("upper", [(0, 1), (10, 1.7)]), LineSeries("lower", [(0, 0), (10, 0.7)])]
    chart = chart_of(*curves, y_names=[(1.35, "S0"), (0.35, "S1")])
    assert Drawing(chart).y_ticks == [
        (Drawing(chart).y(1.35), "S0"),
        (Drawing(chart).y(0.35), "S1"),
    ]
    assert {"S0", "S1"} <= set(texts(chart))


def test_labels_do_not_cover_one_another() -> None:
    dots = [Dot(5, 0.5, f"at {number}") for number in range(6)]
    labels = Drawing(chart_of(LineSeries("c", [(0, 0), (10, 1)]), dots=dots)).labels
    heights = sorted(label.y for label in labels)
    assert all(high - low >= 15 for low, high in itertools.pairwise(heights))


@given(
    name=st.text(max_size=40),
    points=st.lists(
        st.tuples(st.floats(0, 1e18), st.floats(0, 1e18)), max_size=20, unique_by=lambda p: p[0]
    ),
    steps=st.booleans(),
)
def test_any_curve_gives_a_picture_inside_its_frame(
    name: str, points: list[tuple[float, float]], steps: bool
) -> None:
    plain = "".join(sign for sign in name if sign.isprintable())
    chart = LineChart(plain, PLAIN, PLAIN, [LineSeries(plain, sorted(points), steps)])
    drawing = Drawing(chart)
    (path,) = elements(chart, "path", "curve")
    assert all(-1 <= place <= drawing.frame.width for place in places(path.get("d") or ""))
    assert plain in "".join(texts(chart))
