# SPDX-License-Identifier: BSD-2-Clause
"""Several charts below one another in one picture, for figures of parts (a), (b) and (c)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from hyperperiod.report.groups import GroupChart, group_svg
from hyperperiod.report.lines import LineChart, line_svg

Chart = LineChart | GroupChart

_SIZE = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')


class Panels(NamedTuple):
    """A picture of several charts from top to bottom."""

    charts: Sequence[Chart]


def chart_svg(chart: Chart | Panels) -> str:
    """The picture as one SVG element, whatever is in it."""
    if isinstance(chart, Panels):
        return _stacked([chart_svg(one) for one in chart.charts])
    return line_svg(chart) if isinstance(chart, LineChart) else group_svg(chart)


def _stacked(pictures: Sequence[str]) -> str:
    """Pictures that know their size, each an element inside a common one."""
    inside, width, top = [], 0.0, 0.0
    for picture in pictures:
        found = _SIZE.search(picture)
        assert found is not None, "every chart says its size"
        inside.append(picture.strip().replace("<svg ", f'<svg y="{top:g}" ', 1))
        width = max(width, float(found.group(1)))
        top += float(found.group(2))
    size = f'viewBox="0 0 {width:g} {top:g}" width="{width:g}" height="{top:g}"'
    whole = "\n".join(inside)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{whole}\n</svg>\n'
