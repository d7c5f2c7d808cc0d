# SPDX-License-Identifier: BSD-2-Clause
"""A part of a schedule as a picture: SVG that needs nothing else, for papers and pages.

A row is a vcpu: boxes where it runs, filled on its own budget, pale on extra time, hatched on
somebody else's budget; below them a strip where its server pays. Items of flows are lines from row
to row, swaps lines from top to bottom. Nothing is told by colour alone: a picture may be printed in
grey. The same schedule gives the same bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

from hyperperiod.model import InputError, format_time
from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.report.charts import round_up
from hyperperiod.report.swaps import swaps
from hyperperiod.trace.format import (
    EXTRA,
    NONE,
    SECOND_PAYER,
    SPARE,
    Header,
    Kind,
    Records,
    server_name,
)
from hyperperiod.trace.interval_arrays import interval_array, merged
from hyperperiod.trace.items import visits
from hyperperiod.trace.jobs import Job, jobs

WIDTH, LEFT, RIGHT = 800, 128, 24
HEAD, ROW, FOOT = 14, 46, 62
BOX, STRIP, LINE = 22, 5, 18
NARROW_LEFT: Final = 112
"""The room for names in a picture that is narrower than WIDTH."""
MM: Final = 96 / 25.4
"""Drawing units in a millimetre: text of 12 units is 9 pt high."""
TICK: Final = 81
"""About how many units are between two instants that are named on the axis, unless few fit."""
MOST_BOXES: Final = 5_000
"""More than these can be told apart by nobody."""
NAMESPACE: Final = 'xmlns="http://www.w3.org/2000/svg"'

# Middle tones that are told apart on white and on black.
COLORS: Final = (
    "#3d7dca",
    "#e0782f",
    "#3f9c55",
    "#b2559e",
    "#c9a227",
    "#5f9ea0",
    "#a8574d",
    "#7a6fc0",
)

STYLE: Final = """
  .back{fill:#ffffff} .ink{fill:#24292f} .faint{fill:#6e7781} .line{stroke:#d0d7de}
  .mark{stroke:#24292f;fill:none} .miss{stroke:#d1242f;fill:none;stroke-width:2}
  text{font:12px system-ui,sans-serif}
  @media (prefers-color-scheme:dark){
    .back{fill:#0d1117} .ink{fill:#e6edf3} .faint{fill:#9198a1} .line{stroke:#3d444d}
    .mark{stroke:#e6edf3} .miss{stroke:#ff7b72}
  }
"""


class Box(NamedTuple):
    """A stretch of one pcpu's time: who runs ("" for nobody), who pays, on which kind of budget."""

    pcpu: int
    start_ns: int
    end_ns: int
    run: str
    pay: tuple[str, ...]
    extra: bool


class Leg(NamedTuple):
    """A stretch of an item's way: at one domain, from when to when; last: it leaves there."""

    flow: int
    item: int
    row: str
    start_ns: int
    end_ns: int
    last: bool


class Scene(NamedTuple):
    """A picture of a schedule between two instants (ns), with a name on the axis at each step."""

    header: Header
    rows: list[str]
    boxes: list[Box]
    jobs: Sequence[Job]
    legs: list[Leg]
    refills: list[tuple[int, str]]
    missed: list[tuple[int, str]]
    swaps: list[tuple[int, str]]
    from_ns: int
    to_ns: int
    step_ns: int
    width: int

    @property
    def left(self) -> int:
        """Where the time begins, behind the names of rows."""
        return left_of(self.width)

    def shows(self, time_ns: int) -> bool:
        """Returns whether an instant (ns) lies in what is drawn."""
        return self.from_ns <= time_ns <= self.to_ns

    def x(self, time_ns: int) -> float:
        """The place of an instant, at the edge for one that lies beyond it."""
        inside = min(max(time_ns, self.from_ns), self.to_ns) - self.from_ns
        return self.left + (self.width - self.left - RIGHT) * inside / (self.to_ns - self.from_ns)

    def y(self, row: str) -> int:
        """Returns where the top of a row is in the picture."""
        return HEAD + ROW * self.rows.index(row)

    def color(self, row: str) -> str:
        """Returns the colour of a row, by its place among the rows."""
        return COLORS[self.rows.index(row) % len(COLORS)]


def schedule_svg(
    header: Header,
    records: Records,
    from_ns: int = 0,
    to_ns: int | None = None,
    *,
    step_ns: int | None = None,
    title: str | None = None,
    width_mm: int | None = None,
) -> str:
    """The schedule of a trace between two instants as SVG; by default up to its horizon.

    `step_ns` is between two named instants of the axis. Text is 9 pt high, whatever the width;
    without one the picture is as wide as a page. InputError where nothing lies between the
    instants, or more than a picture can show.
    """
    to_ns = header["horizon_ns"] if to_ns is None else to_ns
    if not from_ns < min(to_ns, header["horizon_ns"]):
        allowed = "an instant before --to and the end of the run"
        raise InputError("", None, "--from", format_time(from_ns), allowed)
    width = WIDTH if width_mm is None else round(width_mm * MM)
    if step_ns is None:
        ticks = (width - left_of(width) - RIGHT) // TICK
        step_ns = max(1, round(round_up((to_ns - from_ns) / max(4, ticks))))
    view = scene(header, records, (from_ns, to_ns), step_ns, width)
    if len(view.boxes) > MOST_BOXES:
        allowed = f"at most {MOST_BOXES}: --from and --to choose a part"
        raise InputError("", None, "--to", f"{len(view.boxes)} stretches of time", allowed)
    return draw(view, title or f"{header['system']} under {header['policy']}")


def left_of(width: int) -> int:
    """Where the time begins in a picture of some width."""
    return LEFT if width >= WIDTH else NARROW_LEFT


def scene(
    header: Header, records: Records, part: tuple[int, int], step_ns: int, width: int
) -> Scene:
    """The part of a trace between two instants (ns) as rows, boxes and marks."""
    from_ns, to_ns = part
    found = [
        box
        for pcpu in range(header["pcpus"])
        for box in boxes_of(header, records, pcpu)
        if box.start_ns < to_ns and box.end_ns > from_ns
    ]
    active = {box.run for box in found} | {name for box in found for name in box.pay}
    missed = [
        (int(record["value"]), header["tasks"][record["task"]]["domain"])
        for record in records[records["kind"] == Kind.MISS]
    ]
    return Scene(
        header,
        [name for name in (*(vcpu["name"] for vcpu in header["vcpus"]), "spare") if name in active],
        found,
        jobs(header, records),
        list(legs_of(header, records)),
        list(refills(header, records)),
        missed,
        swaps(header, records),
        from_ns,
        to_ns,
        step_ns,
        width,
    )


def boxes_of(header: Header, records: Records, pcpu: int) -> Iterator[Box]:
    """The stretches of one pcpu's time, each with who runs and who pays."""
    for span in merged(interval_array(records, pcpu), ("vcpu", "payer", "flags")):
        vcpu, payer, flags = int(span["vcpu"]), int(span["payer"]), int(span["flags"])
        pay = [server_name(header, payer)] if payer != NONE else []
        if flags & SECOND_PAYER:
            pay.append(server_name(header, vcpu))
        run = server_name(header, vcpu) if vcpu != NONE else ""
        bounds = int(span["start_ns"]), int(span["end_ns"])
        yield Box(pcpu, *bounds, run, tuple(pay), bool(flags & EXTRA))


def legs_of(header: Header, records: Records) -> Iterator[Leg]:
    """The ways of the items, hop by hop, as far as they have come."""
    since: dict[tuple[int, int], int] = {}
    for record, item in visits(records):
        key = (item.flow, item.number)
        if record.kind == Kind.ITEM:
            since[key] = record.time_ns
        elif record.kind == Kind.COMPLETE:
            hops = header["flows"][item.flow]["hops"]
            row = header["tasks"][record.task]["domain"]
            last = item.hop + 1 == len(hops)
            yield Leg(*key, row, since[key], record.time_ns, last)


def refills(header: Header, records: Records) -> Iterator[tuple[int, str]]:
    """Returns when budgets came back: on their grid, where the rule has one, else as recorded."""
    on_grid = [("spare", header["spare"]["period_ns"])] if header["spare"] else []
    if header["budget"] in ("periodic", "deferrable", "polling"):
        on_grid += [(one["name"], one["period_ns"]) for one in header["vcpus"] if one["period_ns"]]
    else:
        for record in records[records["kind"] == Kind.REPLENISH]:
            if record["vcpu"] != SPARE:
                yield int(record["time_ns"]), server_name(header, int(record["vcpu"]))
    for name, period_ns in on_grid:
        for time_ns in range(0, header["horizon_ns"], period_ns):
            yield time_ns, name


def draw(view: Scene, title: str) -> str:
    """Returns the picture of the schedule as SVG."""
    keys = list(legend(view))
    bottom = HEAD + ROW * len(view.rows)
    height = bottom + FOOT + LINE * keys[-1].line
    parts = [
        *axis(view),
        *labels(view),
        *boxes(view),
        *marks(view),
        *ways(view),
        *swap_lines(view),
        *(shape for key in keys for shape in drawn(key, bottom + FOOT - 14 + LINE * key.line)),
    ]
    return framed(height, title, parts, hatches(view), view.width)


def framed(
    height: int,
    title: str,
    parts: Iterable[str],
    patterns: Iterable[str] = (),
    width: int = WIDTH,
) -> str:
    """Returns a whole SVG of `width` by `height` pixels, readable on white and on black.

    It has the title, on a background these parts, and before that the patterns that they use.
    """
    lines = [
        f'<svg {NAMESPACE} viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        *patterns,
        f'<rect class="back" width="{width}" height="{height}" rx="6"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def hatches(view: Scene) -> Iterator[str]:
    """One hatch per colour, for time on somebody else's budget."""
    for row in view.rows:
        number = view.rows.index(row)
        yield (
            f'<pattern id="h{number}" width="6" height="6" patternUnits="userSpaceOnUse" '
            f'patternTransform="rotate(45)"><rect width="6" height="6" fill="{view.color(row)}" '
            f'fill-opacity=".2"/><rect width="2.4" height="6" fill="{view.color(row)}"/></pattern>'
        )


def axis(view: Scene) -> Iterator[str]:
    """A line and a name at each step of the time, the first with its unit."""
    bottom = HEAD + ROW * len(view.rows)
    unit_ns, unit = max((ns, unit) for unit, ns in NS_PER_UNIT.items() if ns <= view.step_ns)
    first_ns = -(-view.from_ns // view.step_ns) * view.step_ns
    for time_ns in range(first_ns, view.to_ns + 1, view.step_ns):
        x = view.x(time_ns)
        yield f'<path class="line" d="M{x:.1f} {HEAD - 6}V{bottom}"/>'
        text = f"{time_ns / unit_ns:.12g}" + (f" {unit}" if time_ns == first_ns else "")
        place = f'x="{x:.1f}" y="{bottom + 16}" text-anchor="middle"'
        yield f'<text class="faint" {place}>{text}</text>'


def swap_lines(view: Scene) -> Iterator[str]:
    """A line where another policy comes into force, with its name."""
    bottom = HEAD + ROW * len(view.rows)
    for time_ns, name in view.swaps:
        if view.shows(time_ns):
            x = view.x(time_ns)
            yield f'<path class="mark" stroke-dasharray="5 3" d="M{x:.1f} 0V{bottom}"/>'
            yield f'<text class="ink" x="{x + 4:.1f}" y="10">{name}</text>'


def labels(view: Scene) -> Iterator[str]:
    """The name of each row, and what its server gets."""
    interfaces = {vcpu["name"]: vcpu for vcpu in view.header["vcpus"]}
    for row in view.rows:
        y = view.y(row) + 18
        yield f'<text class="ink" x="10" y="{y}" font-weight="600">{row}</text>'
        of = view.header["spare"] if row == "spare" else interfaces[row]
        if of and of["period_ns"] and of["budget_ns"] is not None:
            text = f"{short(of['budget_ns'])} in {short(of['period_ns'])}"
            yield f'<text class="faint" x="10" y="{y + 15}">{text}</text>'


def short(time_ns: int) -> str:
    """A time for people, to two decimals: 4 ms, 1.95 ms, 6 us."""
    unit_ns, unit = (1_000_000, "ms") if time_ns >= 1_000_000 else (1_000, "us")
    return f"{round(time_ns / unit_ns, 2):g} {unit}"


def boxes(view: Scene) -> Iterator[str]:
    """Draws who runs, as a box in its row, and who pays, as a strip below the payer's."""
    for box in view.boxes:
        x, wide = view.x(box.start_ns), view.x(box.end_ns) - view.x(box.start_ns)
        if box.run:
            yield from running(view, box, x, wide)
        for payer in box.pay:
            y = view.y(payer) + 8 + BOX
            yield (
                f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{STRIP}" '
                f'fill="{view.color(payer)}"/>'
            )


def running(view: Scene, box: Box, x: float, wide: float) -> Iterator[str]:
    """The box of a vcpu that runs, with the number of its pcpu if there are several."""
    color, y = view.color(box.run), view.y(box.run) + 6
    fill = color if box.run in box.pay else f"url(#h{view.rows.index(box.run)})"
    pale = ' fill-opacity=".45"' if box.extra else ""
    yield (
        f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{BOX}" fill="{fill}"{pale} '
        f'stroke="{color}"/>'
    )
    if view.header["pcpus"] > 1 and wide > 9:
        place = f'x="{x + wide / 2:.1f}" y="{y + 15}" text-anchor="middle"'
        solid = box.run in box.pay and not box.extra
        color = 'fill="#fff"' if solid else 'class="ink"'
        yield f"<text {color} {place}>{box.pcpu}</text>"


def marks(view: Scene) -> Iterator[str]:
    """Releases above a row, refills below it, missed deadlines as crosses."""
    for job in view.jobs:
        if job.domain in view.rows and view.shows(job.release_ns):
            x, y = view.x(job.release_ns), view.y(job.domain)
            yield f'<path class="mark" d="M{x:.1f} {y + 6}v-9m-3 4l3 -4l3 4"/>'
    for time_ns, row in view.refills:
        if row in view.rows and view.shows(time_ns):
            x, y = view.x(time_ns), view.y(row) + 8 + BOX + STRIP
            yield f'<path fill="{view.color(row)}" d="M{x:.1f} {y}l4 6h-8z"/>'
    for time_ns, row in view.missed:
        if row in view.rows and view.shows(time_ns):
            x, y = view.x(time_ns), view.y(row) + 17
            yield f'<path class="miss" d="M{x - 6:.1f} {y - 6}l12 12m0 -12l-12 12"/>'


def ways(view: Scene) -> Iterator[str]:
    """Each item as one line through the rows of its hops, with an arrow where it leaves."""
    items: defaultdict[tuple[int, int], list[Leg]] = defaultdict(list)
    for leg in view.legs:
        if leg.row in view.rows and seen(view, leg):
            items[leg.flow, leg.item].append(leg)
    for (flow, _), legs in sorted(items.items()):
        path = ""
        for leg in legs:
            y = view.y(leg.row) + 6 + BOX // 2
            start, end = view.x(leg.start_ns), view.x(leg.end_ns)
            path += f"{'L' if path else 'M'}{start:.1f} {y}L{end:.1f} {y}"
            path += "v-22m-4 6l4 -6l4 6" if leg.last and view.shows(leg.end_ns) else ""
        yield f'<path class="mark" stroke-width="1.6" d="{path}"{dashes(flow)}/>'


def seen(view: Scene, leg: Leg) -> bool:
    """Returns whether a part of a stretch of an item's way lies in what is drawn."""
    return leg.start_ns <= view.to_ns and leg.end_ns >= view.from_ns


class Key(NamedTuple):
    """An entry of the legend: what it explains, by name or a flow's number; its place."""

    what: str | int
    text: str
    x: int
    line: int


def legend(view: Scene) -> Iterator[Key]:
    """The shapes that occur, and below them the lines of flows, in as many lines as they need."""
    entries: list[tuple[str | int, str]] = [("own", "runs on its own budget")]
    if any(box.run and box.run not in box.pay for box in view.boxes):
        entries.append(("other", "on another's"))
    if any(box.extra for box in view.boxes):
        entries.append(("extra", "on extra time"))
    entries += [("pays", "server pays"), ("refill", "refill"), ("release", "release")]
    if any(view.shows(time_ns) for time_ns, _ in view.missed):
        entries.append(("miss", "deadline missed"))
    entries += enumerate(f"items of {flow['name']}" for flow in view.header.get("flows", []))
    left = LEFT if view.width >= WIDTH else 10
    x, line = left, 0
    for what, text in entries:
        wide = 34 + round(6.6 * len(text))
        if what == 0 or (x > left and x + wide - 12 > view.width):
            x, line = left, line + 1
        yield Key(what, text, x, line)
        x += wide


def drawn(key: Key, y: int) -> Iterator[str]:
    """An entry of the legend as SVG, on the line at y."""
    x = key.x
    swatch = f'<rect x="{x}" y="{y - 10}" width="16" height="11" fill="{{}}" stroke="#888"/>'
    gray = (
        '<pattern id="hg" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="2.4" height="6" fill="#888"/></pattern>'
    )
    shapes = {
        "own": swatch.format("#888"),
        "other": gray + swatch.format("url(#hg)"),
        "extra": swatch.format('#888" fill-opacity=".45'),
        "pays": f'<rect x="{x}" y="{y - 7}" width="16" height="{STRIP}" fill="#888"/>',
        "refill": f'<path fill="#888" d="M{x} {y}m8 -8l5 7h-10z"/>',
        "release": f'<path class="mark" d="M{x} {y}m8 1v-10m-3 4l3 -4l3 4"/>',
        "miss": f'<path class="miss" d="M{x} {y}m3 -9l9 9m0 -9l-9 9"/>',
    }
    if isinstance(key.what, int):
        yield f'<path class="mark" stroke-width="1.6" d="M{x} {y - 4}h16"{dashes(key.what)}/>'
    else:
        yield shapes[key.what]
    yield f'<text class="faint" x="{x + 22}" y="{y}">{escape(key.text, quote=False)}</text>'


def dashes(flow: int) -> str:
    """The dash of a flow's lines; the first has none."""
    return "" if flow == 0 else f' stroke-dasharray="{1 + 3 * flow} 3"'
