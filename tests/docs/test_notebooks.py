# SPDX-License-Identifier: BSD-2-Clause
"""The tutorial notebooks run from top to bottom, and their pages show what came of that."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import nbformat
import pytest
from docs.notebook_pages import FOLDER, NAMES, read, run, shown
from nbclient.exceptions import CellExecutionError

from docs import notebook_pages


def test_there_are_notebooks() -> None:
    assert {"acceptance-ratios", "first-system", "policy-comparison"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_kept_without_outputs(name: str) -> None:
    notebook = read(name)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert notebook.cells[0].source.startswith("# ")


@pytest.mark.parametrize("name", NAMES)
def test_its_page_shows_what_comes_of_it(name: str) -> None:
    """Pictures differ in the letters of a machine: they are there, and are pictures."""
    found = run(name)
    assert found.page == (FOLDER / f"{name}.md").read_text(), f"docs.notebook_pages --write {name}"
    for number in range(1, len(found.figures) + 1):
        ET.fromstring((FOLDER / f"{name}-{number}.svg").read_text())
    assert not (FOLDER / f"{name}-{len(found.figures) + 1}.svg").exists()


def test_five_tests_take_twenty_lines() -> None:
    cell = read("acceptance-ratios").cells[1]
    lines = [line for line in cell.source.splitlines() if line.strip()]
    assert len(lines) <= 20
    assert cell.source.endswith("found.plot()")


# -- what is wrong is seen ------------------------------------------------------------------------


def test_a_cell_that_fails_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cell = nbformat.v4.new_code_cell("assert 1 + 1 == 3, 'sums'", id="wrong")
    folder = tmp_path_factory.mktemp("notebooks")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), folder / "wrong.ipynb")
    monkeypatch.setattr(notebook_pages, "FOLDER", folder)
    with pytest.raises(CellExecutionError, match="sums"):
        run("wrong")


def test_a_page_has_text_tables_and_figures() -> None:
    html = "<div><style>p { color: red }</style>\n\n  <table></table></div>"
    results = [
        ("text/plain", {"text/plain": "3"}),
        ("text/html", {"text/html": html, "text/plain": "a table"}),
        ("image/svg+xml", {"image/svg+xml": "<svg/>", "text/plain": "a figure"}),
    ]
    cell = nbformat.v4.new_code_cell("work()")
    cell.outputs = [nbformat.v4.new_output("stream", text="said\n")] + [
        nbformat.v4.new_output("display_data", data=data) for _, data in results
    ]
    page, figures = shown("name", [nbformat.v4.new_markdown_cell("# Title"), cell])
    assert page.startswith("# Title\n\n*This page is a [notebook](./name.ipynb)")
    assert "```python\nwork()\n```\n\n```text\nsaid\n```\n\n```text\n3\n```\n\n" in page
    assert page.endswith("<div>\n<table></table></div>\n\n![figure 1](name-1.svg)\n")
    assert figures == ["<svg/>\n"]


def test_an_unknown_notebook_is_refused() -> None:
    with pytest.raises(SystemExit, match="found 'none'; allowed: acceptance-ratios"):
        notebook_pages.main(["none"])
