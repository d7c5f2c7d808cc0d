# SPDX-License-Identifier: BSD-2-Clause
"""Draws the timelines of the documentation from what the simulator really does.

    python docs/timeline.py            writes every picture in docs/pictures
    python docs/timeline.py NAME ...   writes these

Each picture is one system under one policy. A row is a vcpu: boxes where it runs, filled on its own
budget, pale on extra time, hatched on somebody else's budget; below them a strip where its server
pays. Items of flows are lines from row to row. Output is plain SVG, the same bytes for the same
schedule, so that a test can say whether a picture is still true.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from hyperperiod.trace.format import EXTRA, NONE, SECOND_PAYER, SPARE, Kind, read, server_name
from hyperperiod.trace.interval_arrays import interval_array, merged
from hyperperiod.trace.items import visits
from hyperperiod.trace.jobs import Job, jobs

TOP: Final = Path(__file__).parents[1]
WIDTH, LEFT, RIGHT = 800, 128, 24
HEAD, ROW, FOOT = 14, 46, 62
BOX, STRIP = 22, 5
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


class Picture(NamedTuple):
    """One picture: what is run, for how long, and what a step of the axis is."""

    system: str
    policy: str
    horizon: str
    step_ns: int


MS: Final = 1_000_000
PICTURES: Final = {
    "ptps": Picture("docs/examples/idle-time.toml", "ptps", "40ms", 5 * MS),
    "wcps": Picture("docs/examples/idle-time.toml", "wcps", "40ms", 5 * MS),
    "crps": Picture("docs/examples/idle-time.toml", "crps", "40ms", 5 * MS),
    "ds": Picture("docs/examples/late-work.toml", "ds", "40ms", 5 * MS),
    "polling": Picture("docs/examples/late-work.toml", "polling", "40ms", 5 * MS),
    "sporadic": Picture("docs/examples/late-work.toml", "sporadic", "40ms", 5 * MS),
    "rtds": Picture("docs/examples/extra-time.toml", "rtds", "20ms", 2 * MS),
    "ertds": Picture("systems/ertds-example3.toml", "ertds", "24us", 2_000),
    "spare-later-rtds": Picture("docs/examples/spare-later.toml", "rtds", "24ms", 2 * MS),
    "spare-later": Picture("docs/examples/spare-later.toml", "ertds", "24ms", 2 * MS),
    "cbs": Picture("systems/deferrable-edf-counterexample.toml", "cbs", "30ms", 5 * MS),
    "deferrable-edf": Picture(
        "systems/deferrable-edf-counterexample.toml", "deferrable+edf", "30ms", 5 * MS
    ),
    "sedf": Picture("docs/examples/short-unblocking.toml", "sedf", "60ms", 5 * MS),
    "sedf-prime": Picture("docs/examples/short-unblocking.toml", "sedf-prime", "60ms", 5 * MS),
    "psedf": Picture("docs/examples/short-unblocking.toml", "psedf", "60ms", 5 * MS),
    "partitioned-hsf-fp": Picture(
        "systems/exsched-table2.toml", "partitioned-hsf-fp", "80ms", 10 * MS
    ),
    "packet-path": Picture("systems/packet-path.toml", "crps", "5ms", MS // 2),
    "overload": Picture("systems/overload.toml", "ptps", "60ms", 10 * MS),
    "brake-by-wire": Picture("systems/brake-by-wire.toml", "crps", "40ms", 5 * MS),
    "linux-four-vcpus": Picture("systems/linux-four-vcpus.toml", "crps", "40ms", 5 * MS),
    "zone-controller": Picture("systems/zone-controller.toml", "ptps", "12ms", MS),
    "stability-control": Picture("systems/stability-control.toml", "psedf", "500us", MS // 20),
}


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
    """What there is to draw."""

    header: Any
    rows: list[str]
    boxes: list[Box]
    jobs: list[Job]
    legs: list[Leg]
    refills: list[tuple[int, str]]
    missed: list[tuple[int, str]]
    horizon_ns: int
    step_ns: int

    def x(self, time_ns: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * time_ns / self.horizon_ns

    def y(self, row: str) -> int:
        return HEAD + ROW * self.rows.index(row)

    def color(self, row: str) -> str:
        return COLORS[self.rows.index(row) % len(COLORS)]


def simulate(picture: Picture) -> Scene:
    """Runs the system and reads its trace."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.hpt"
        command = [sys.executable, "-m", "hyperperiod", "simulate", picture.system]
        options = ["--policy", picture.policy, "--horizon", picture.horizon, "--trace", str(file)]
        done = subprocess.run([*command, *options], cwd=TOP, capture_output=True, text=True)
        if done.returncode > 1:
            raise SystemExit(done.stderr)
        header, records = read(file)
        return scene(header, records, picture.step_ns)


def scene(header: Any, records: Any, step_ns: int) -> Scene:
    """The trace as rows, boxes and marks."""
    found = [box for pcpu in range(header["pcpus"]) for box in boxes_of(header, records, pcpu)]
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
        header["horizon_ns"],
        step_ns,
    )


def boxes_of(header: Any, records: Any, pcpu: int) -> Iterator[Box]:
    for span in merged(interval_array(records, pcpu), ("vcpu", "payer", "flags")):
        vcpu, payer, flags = int(span["vcpu"]), int(span["payer"]), int(span["flags"])
        pay = [server_name(header, payer)] if payer != NONE else []
        if flags & SECOND_PAYER:
            pay.append(server_name(header, vcpu))
        run = server_name(header, vcpu) if vcpu != NONE else ""
        bounds = int(span["start_ns"]), int(span["end_ns"])
        yield Box(pcpu, *bounds, run, tuple(pay), bool(flags & EXTRA))


def legs_of(header: Any, records: Any) -> Iterator[Leg]:
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


def refills(header: Any, records: Any) -> Iterator[tuple[int, str]]:
    """When budgets came back: on their grid, where the rule has one, else as recorded."""
    on_grid = [("spare", header["spare"])] if header["spare"] else []
    if header["budget"] in ("periodic", "deferrable", "polling"):
        on_grid += [(vcpu["name"], vcpu) for vcpu in header["vcpus"] if vcpu["period_ns"]]
    else:
        for record in records[records["kind"] == Kind.REPLENISH]:
            if record["vcpu"] != SPARE:
                yield int(record["time_ns"]), server_name(header, int(record["vcpu"]))
    for name, server in on_grid:
        for time_ns in range(0, header["horizon_ns"], server["period_ns"]):
            yield time_ns, name


def draw(view: Scene, title: str) -> str:
    """The picture as SVG."""
    flows = view.header.get("flows", [])
    height = HEAD + ROW * len(view.rows) + FOOT + (18 if flows else 0)
    parts = [
        f'<svg {NAMESPACE} viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
        f"<title>{title}</title>",
        f"<style>{STYLE}</style>",
        *hatches(view),
        f'<rect class="back" width="{WIDTH}" height="{height}" rx="6"/>',
        *axis(view),
        *labels(view),
        *boxes(view),
        *marks(view),
        *ways(view),
        *legend(view, HEAD + ROW * len(view.rows) + FOOT),
        *names_of_flows(view, height),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


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
    bottom = HEAD + ROW * len(view.rows)
    unit_ns, unit = (MS, "ms") if view.step_ns >= MS else (1_000, "us")
    for time_ns in range(0, view.horizon_ns + 1, view.step_ns):
        x = view.x(time_ns)
        yield f'<path class="line" d="M{x:.1f} {HEAD - 6}V{bottom}"/>'
        text = f"{time_ns // unit_ns}" + (f" {unit}" if time_ns == 0 else "")
        place = f'x="{x:.1f}" y="{bottom + 16}" text-anchor="middle"'
        yield f'<text class="faint" {place}>{text}</text>'


def labels(view: Scene) -> Iterator[str]:
    interfaces = {vcpu["name"]: vcpu for vcpu in view.header["vcpus"]}
    for row in view.rows:
        y = view.y(row) + 18
        yield f'<text class="ink" x="10" y="{y}" font-weight="600">{row}</text>'
        of = view.header["spare"] if row == "spare" else interfaces[row]
        if of and of["period_ns"]:
            text = f"{short(of['budget_ns'])} in {short(of['period_ns'])}"
            yield f'<text class="faint" x="10" y="{y + 15}">{text}</text>'


def short(time_ns: int) -> str:
    """A time for people, to two decimals: 4 ms, 1.95 ms, 6 us."""
    unit_ns, unit = (MS, "ms") if time_ns >= MS else (1_000, "us")
    return f"{round(time_ns / unit_ns, 2):g} {unit}"


def boxes(view: Scene) -> Iterator[str]:
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
        if job.domain in view.rows:
            x, y = view.x(job.release_ns), view.y(job.domain)
            yield f'<path class="mark" d="M{x:.1f} {y + 6}v-9m-3 4l3 -4l3 4"/>'
    for time_ns, row in view.refills:
        if row in view.rows:
            x, y = view.x(time_ns), view.y(row) + 8 + BOX + STRIP
            yield f'<path fill="{view.color(row)}" d="M{x:.1f} {y}l4 6h-8z"/>'
    for time_ns, row in view.missed:
        if row in view.rows:
            x, y = view.x(time_ns), view.y(row) + 17
            yield f'<path class="miss" d="M{x - 6:.1f} {y - 6}l12 12m0 -12l-12 12"/>'


def ways(view: Scene) -> Iterator[str]:
    """Each item as one line through the rows of its hops, with an arrow where it leaves."""
    for flow, item in sorted({(leg.flow, leg.item) for leg in view.legs}):
        path = ""
        for leg in view.legs:
            if (leg.flow, leg.item) == (flow, item) and leg.row in view.rows:
                y = view.y(leg.row) + 6 + BOX // 2
                start, end = view.x(leg.start_ns), view.x(leg.end_ns)
                path += f"{'L' if path else 'M'}{start:.1f} {y}L{end:.1f} {y}"
                path += "v-22m-4 6l4 -6l4 6" if leg.last else ""
        yield f'<path class="mark" stroke-width="1.6" d="{path}"{dashes(flow)}/>'


def legend(view: Scene, height: int) -> Iterator[str]:
    """What the shapes mean: those that occur."""
    y = height - 14
    hatched = any(box.run and box.run not in box.pay for box in view.boxes)
    swatch = f'<rect x="{{x}}" y="{y - 10}" width="16" height="11" fill="{{fill}}" stroke="#888"/>'
    entries: list[tuple[str, str]] = [(swatch.replace("{fill}", "#888"), "runs on its own budget")]
    if hatched:
        gray = (
            '<pattern id="hg" width="6" height="6" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><rect width="2.4" height="6" fill="#888"/></pattern>'
        )
        entries.append((gray + swatch.replace("{fill}", "url(#hg)"), "on another's"))
    if any(box.extra for box in view.boxes):
        pale = swatch.replace("{fill}", '#888" fill-opacity=".45')
        entries.append((pale, "on extra time"))
    strip = f'<rect x="{{x}}" y="{y - 7}" width="16" height="{STRIP}" fill="#888"/>'
    entries.append((strip, "server pays"))
    entries.append((f'<path fill="#888" d="M{{x}} {y}m8 -8l5 7h-10z"/>', "refill"))
    entries.append((f'<path class="mark" d="M{{x}} {y}m8 1v-10m-3 4l3 -4l3 4"/>', "release"))
    if view.missed:
        entries.append(
            (f'<path class="miss" d="M{{x}} {y}m3 -9l9 9m0 -9l-9 9"/>', "deadline missed")
        )
    x = LEFT
    for shape, text in entries:
        yield shape.replace("{x}", str(x))
        yield f'<text class="faint" x="{x + 22}" y="{y}">{text}</text>'
        x += 34 + round(6.6 * len(text))


def names_of_flows(view: Scene, height: int) -> Iterator[str]:
    """How the items of each flow are drawn."""
    x, y = LEFT, height - 14
    for number, flow in enumerate(view.header.get("flows", [])):
        text = f"items of {flow['name']}"
        yield f'<path class="mark" stroke-width="1.6" d="M{x} {y - 4}h16"{dashes(number)}/>'
        yield f'<text class="faint" x="{x + 22}" y="{y}">{text}</text>'
        x += 34 + round(6.6 * len(text))


def dashes(flow: int) -> str:
    return "" if flow == 0 else f' stroke-dasharray="{1 + 3 * flow} 3"'


def svg(name: str) -> str:
    """The text of one picture."""
    picture = PICTURES[name]
    return draw(simulate(picture), f"{picture.system} under {picture.policy}")


def main(names: Iterable[str]) -> None:
    """Writes the named pictures, or all."""
    for name in list(names) or PICTURES:
        (TOP / "docs" / "pictures" / f"{name}.svg").write_text(svg(name))


if __name__ == "__main__":
    main(sys.argv[1:])
