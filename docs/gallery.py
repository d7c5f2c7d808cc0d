# SPDX-License-Identifier: BSD-2-Clause
"""Rebuilds the gallery of reproduced figures, docs/reproduction.md, and its pictures.

    python -m docs.gallery                measures every figure again and writes page and pictures
    python -m docs.gallery NAME ...       measures these; what the page says of others stays

A figure has a part of the page: where the paper has it, the command that measures it, the picture,
the rows where they are few, and every claim with what the paper says and what came out. So have
the latency lab's scenarios, which stand for the tables of the RT-Xen evaluation. All are measured
in the simulator at the size that their files in experiments/ give, with fixed seeds, so that the
same sources give the same page.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from hyperperiod.cli.table import Table
from hyperperiod.cli.tables.figures import figure_table, latency_table
from hyperperiod.model import parse_policy
from hyperperiod.papers import NAMES
from hyperperiod.papers.catalogue import load_experiment
from hyperperiod.papers.claim import MARKS, Claim
from hyperperiod.papers.experiment import Figure, FigureOptions
from hyperperiod.papers.latency import SCENARIOS, Plan, load_scenarios
from hyperperiod.papers.latency import measure as measure_lab
from hyperperiod.papers.printed import Printed, load_printed

TOP: Final = Path(__file__).parents[1]
PAGE: Final = TOP / "docs" / "reproduction.md"
FEW_ROWS: Final = 36
"""A table of more rows is left to the command."""
LAB: Final = {f"latency-{name}": name for name in SCENARIOS}
"""The lab's scenarios by the names of their parts."""
SERVERS: Final = ("ds", "ptps", "wcps", "crps")
"""The policies that the RT-Xen evaluation has, too."""
QUIRKS: Final = ("rt-xen-0.3-ds", "rt-xen-0.3-pps")
PARTS: Final = (*NAMES, *LAB)
PART: Final = re.compile(r"^<!-- ([\w-]+): (\d+) of (\d+) -->\n(.*?)(?=^<!-- |\Z)", re.M | re.S)

HEAD: Final = """\
# Gallery of reproduced figures

Every figure and table of the five papers that is measured again, as it comes out here: its picture,
its claims with what the paper says, and the command. Each claim is marked: *the paper's*, of which
the table counts those that hold here; *ours*, of which it says nothing; or *contradicts the paper*,
a sentence of ours that cannot be true together with one of its. Where systems or times are drawn,
intervals are those of 95 % for the mean over 20 draws. `make gallery` measures everything again and
writes this page and its pictures. What stands behind the workloads, and why a claim fails, is in
[Reproduced figures](reproduce.md), and for the tables of the RT-Xen evaluation in
[the latency lab](latency.md).

"""


class Part(NamedTuple):
    """What the page says of a figure, and how many of the paper's claims hold."""

    name: str
    holds: int
    claims: int
    text: str


def picture_of(name: str) -> Path:
    """The file of a figure's picture."""
    return TOP / "docs" / "pictures" / f"reproduce-{name}.svg"


def measure(name: str) -> Figure:
    """The figure, measured in the simulator at its full size."""
    return load_experiment(name).reproduce(FigureOptions(), lambda _done: None)


def part_of(name: str, figure: Figure) -> Part:
    """What the page says of a figure that was measured."""
    text = "\n\n".join(
        [
            f"## {name}",
            f"{figure.title}: {figure.source}. `hyperperiod reproduce {name}`",
            f"![{figure.title}](pictures/{picture_of(name).name})",
            _table(figure),
            "\n".join(line for claim in figure.claims for line in _claim(claim)),
        ]
    )
    return Part(name, *_counted(figure.claims), f"{text}\n")


def lab_part(name: str) -> Part:
    """What the page says of a scenario of the lab, measured under the paper's servers."""
    scenarios = load_scenarios((LAB[name],))
    plan = Plan("sim", scenarios, [parse_policy(one) for one in SERVERS], QUIRKS)
    (outcome,) = measure_lab(plan).outcomes
    found = outcome.result
    rows = sum(len(setting.rows) for setting in found.settings)
    quirks = "".join(f" --quirk {one}" for one in QUIRKS) if LAB[name] == "affinity" else ""
    command = f"latency --scenario {LAB[name]} --policies {','.join(SERVERS)}{quirks}"
    text = "\n\n".join(
        [
            f"## {name}",
            f"{found.title}: {found.source}. `hyperperiod {command}`",
            _rows(rows, latency_table("", found.settings, outcome.scenario.test)),
            "\n".join(line for claim in outcome.claims for line in _claim(claim)),
        ]
    )
    return Part(name, *_counted(outcome.claims), f"{text}\n")


def _counted(claims: Sequence[Claim]) -> tuple[int, int]:
    """How many of the paper's claims hold, and how many there are."""
    theirs = [claim for claim in claims if claim.mark == "paper"]
    return sum(claim.holds for claim in theirs), len(theirs)


def _table(figure: Figure) -> str:
    rows = figure.rows if figure.shown is None else figure.shown
    return _rows(len(rows), figure_table("", figure.columns, figure.keys, rows))


def _rows(count: int, table: Table) -> str:
    if count > FEW_ROWS:
        return f"(The command prints the table of {count} rows.)"
    return "```text\n" + "\n".join(table.lines()) + "\n```"


def _claim(claim: Claim) -> Iterator[str]:
    verdict = "holds" if claim.holds else "fails"
    yield f"- **{verdict}** ({MARKS[claim.mark]}): {claim.text}"
    yield f"    - found: {claim.ours}"
    yield f"    - paper: {claim.paper}"


def parts_of(page: str) -> dict[str, Part]:
    """The parts of a page by name."""
    return {
        name: Part(name, int(holds), int(claims), text.rstrip() + "\n")
        for name, holds, claims, text in PART.findall(page)
    }


def page_of(parts: Sequence[Part]) -> str:
    """The whole page: what there is of each paper, then the parts."""
    found = {part.name: part for part in parts}
    rows = [
        "| in the paper | what | shown by | its claims that hold |",
        "| --- | --- | --- | --- |",
        *(_line(one, found) for one in load_printed()),
    ]
    marked = [f"<!-- {one.name}: {one.holds} of {one.claims} -->\n{one.text}" for one in parts]
    return "\n\n".join(
        [HEAD + _thumbnails(parts), _summary(parts), "\n".join(rows), "\n".join(marked)]
    )


def _thumbnails(parts: Sequence[Part]) -> str:
    """A small picture of each figure, which leads to its part."""
    shown = (one.name for one in parts if one.name not in LAB)
    return "\n".join(
        f'<a href="#{name}"><img src="pictures/{picture_of(name).name}" alt="{name}" title="{name}"'
        ' width="150"></a>'
        for name in shown
    )


def _summary(parts: Sequence[Part]) -> str:
    """How many claims there are of each mark."""
    text = "".join(one.text for one in parts)
    against = text.count(f"**holds** ({MARKS['contradicts']})")
    claims, holds = sum(one.claims for one in parts), sum(one.holds for one in parts)
    return (
        f"Of {claims} claims of the papers {holds}"
        f" hold here; {against} claims of ours that hold contradict a paper."
    )


def _line(one: Printed, parts: dict[str, Part]) -> str:
    """A table's or a figure's line: with a link to its part or to the page that shows the same."""
    name = part_name(one.run)
    where, claims = "not yet", ""
    if name is not None:
        part = parts[name]
        where = f"[{name}](#{name})"
        claims = f"{part.holds} of {part.claims}" if part.claims else "none"
    elif one.seen:
        target = one.seen.removeprefix("docs/") if "/" in one.seen else f"../{one.seen}"
        where = f"[{Path(one.seen).stem.lower()}]({target})"
    return f"| {one.paper}, {one.place} | {one.about} | {where} | {claims} |"


def part_name(run: str) -> str | None:
    """The part that stands for a command of the list; None where there is none."""
    words = run.split()
    if not words:
        return None
    return words[1] if words[0] == "reproduce" else f"latency-{words[2]}"


def main(names: Sequence[str]) -> None:
    """Measures figures, all if none is named, and writes their pictures and the page."""
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise SystemExit(f"found {unknown[0]!r}; allowed: {', '.join(PARTS)}")
    parts = parts_of(PAGE.read_text()) if PAGE.exists() else {}
    for name in names or PARTS:
        print(name, flush=True)
        if name in LAB:
            parts[name] = lab_part(name)
        else:
            figure = measure(name)
            picture_of(name).write_text(figure.picture)
            parts[name] = part_of(name, figure)
    PAGE.write_text(page_of([parts[name] for name in PARTS if name in parts]))


if __name__ == "__main__":
    main(sys.argv[1:])
