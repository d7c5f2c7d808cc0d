# SPDX-License-Identifier: BSD-2-Clause
"""Runs the tutorial notebooks and writes a page of each, with what its cells show.

    python -m docs.notebook_pages            # runs all: fails where a cell does
    python -m docs.notebook_pages --write [NAME ...]

A notebook (notebooks/NAME.ipynb) is kept without outputs. Its page (notebooks/NAME.md) has its
text, its code and what came of that: printed text, tables as HTML, figures as files beside it
(NAME-1.svg). Cells run in an empty folder, and must not need one that is not.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

FOLDER = Path(__file__).parent / "notebooks"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.ipynb")))

# Figures as SVG with text as text, the same whenever drawn: no date, and names from a fixed salt.
SETUP = """
import matplotlib as mpl
%config InlineBackend.figure_formats = ["svg"]
%config InlineBackend.print_figure_kwargs = {"metadata": {"Date": None}, "bbox_inches": "tight"}
mpl.rcParams["svg.hashsalt"] = "hyperperiod"
mpl.rcParams["svg.fonttype"] = "none"
"""


class Shown(NamedTuple):
    """A notebook after its run: the text of its page, and its figures in order."""

    page: str
    figures: list[str]


def read(name: str) -> Any:
    """The notebook as it is kept."""
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def run(name: str) -> Shown:
    """Runs a notebook in an empty folder; CellExecutionError where a cell fails."""
    notebook = read(name)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(SETUP))
    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as folder:
        execute(notebook, Path(folder))
    return shown(name, notebook.cells[1:])


def execute(notebook: Any, folder: Path) -> None:
    """Runs the cells of a notebook in a folder; CellExecutionError where one fails."""
    with tempfile.TemporaryDirectory(prefix="kernel-") as sockets:
        # By TCP two kernels that start at once may be given the same port, which only one can have.
        local = Config(KernelManager={"transport": "ipc", "ip": f"{sockets}/of"})
        NotebookClient(
            notebook,
            timeout=300,
            startup_timeout=300,
            kernel_name="python3",
            resources={"metadata": {"path": str(folder)}},
            config=local,
        ).execute()


def shown(name: str, cells: list[Any]) -> Shown:
    """What the page of a notebook says when its cells have run."""
    figures: list[str] = []
    parts = []
    for cell in cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        parts += [_output(name, output, figures) for output in cell.outputs]
    note = f"*This page is a [notebook](./{name}.ipynb), run as it stands.*"
    return Shown("\n\n".join([parts[0], note, *parts[1:]]) + "\n", figures)


def _output(name: str, output: Any, figures: list[str]) -> str:
    """What a page shows of an output; a figure is noted."""
    if output.output_type == "stream":
        return _text(output.text)
    data = output.data
    if "image/svg+xml" in data:
        figures.append(data["image/svg+xml"].rstrip("\n") + "\n")
        return f"![figure {len(figures)}]({name}-{len(figures)}.svg)"
    if "text/html" in data:
        # Markdown ends HTML at an empty line; styles of a notebook have no place in a page; what
        # pandas leaves empty is no head of a column.
        html = re.sub(r"<style.*?</style>", "", data["text/html"], flags=re.DOTALL)
        html = html.replace("<th></th>", "<td></td>")
        return re.sub(r"\n\s*", "\n", html).strip()
    return _text(data["text/plain"])


def _text(text: str) -> str:
    return "```text\n" + text.rstrip("\n") + "\n```"


def files(name: str, found: Shown) -> dict[Path, str]:
    """The page and the figures of a notebook, by their files."""
    pages = {FOLDER / f"{name}.md": found.page}
    for number, figure in enumerate(found.figures, 1):
        pages[FOLDER / f"{name}-{number}.svg"] = figure
    return pages


def main(arguments: list[str]) -> None:
    write = arguments[:1] == ["--write"]
    names = arguments[1:] if write else arguments
    for name in names or NAMES:
        if name not in NAMES:
            sys.exit(f"found {name!r}; allowed: {', '.join(NAMES)}")
        for path, text in files(name, run(name)).items():
            if write:
                path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
