# SPDX-License-Identifier: BSD-2-Clause
"""The documentation says what is so.

Links and paths lead somewhere, commands print what the pages show, pictures are what the simulator
does, and every policy of the core has a page. A checker that finds nothing proves little, so each
is first shown a page that is wrong.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from docs import console, keys, proofs, spreads, timeline
from hyperperiod.analysis import AnalysisResult
from hyperperiod.cli import main
from hyperperiod.hosts.result import ComparisonResult
from hyperperiod.measured import read
from hyperperiod.model import load_system
from hyperperiod.model.policy import PRESETS
from hyperperiod.model.result_kinds import Object
from hyperperiod.model.schema import system_schema

TOP = Path(__file__).parents[2]
PAGES = console.pages()
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# A path of the repository in a text: from one of its folders on, up to a space or a quote.
NAMED_PATH = re.compile(
    r"(?<![\w/.])((?:systems|docs|core|hosts|src|tests|tools)/[\w./-]*\w/?)(?![\w/*])"
)
CORE_ROW = re.compile(r'ROW\("([\w-]+)", (\w+), HP_BUDGET_(\w+), HP_ORDER_(\w+), HP_SLACK_(\w+)\)')


def ids(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(TOP)) for page in pages]


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", CODE_BLOCK.sub("", text), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", title.lower()) for title in titles]
    return {title.strip().replace(" ", "-") for title in plain}


def broken_links(page: Path, text: str) -> Iterator[str]:
    """Relative links of a page that lead nowhere."""
    for target in LINK.findall(CODE_BLOCK.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text())):
            yield target


def missing_paths(text: str) -> list[str]:
    """Paths of the repository that a text names and that are not there; a patch may make some."""
    text = re.sub(r"(?s)```diff\n.*?```", "", text)
    return [path for path in NAMED_PATH.findall(text) if not (TOP / path).exists()]


def keys_of(schema: Any) -> Iterator[str]:
    """Every property name in a JSON Schema."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for part in schema.values():
            yield from keys_of(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from keys_of(part)


def core_policies() -> dict[str, tuple[str, ...]]:
    """The rows of the core's table: name -> scope, budget, order, slack."""
    rows = CORE_ROW.findall((TOP / "core" / "policy.h").read_text())
    return {name: tuple(word.lower().replace("_", "-") for word in words) for name, *words in rows}


# -- the checkers trip on what is wrong ----------------------------------------------------------


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A title, with: signs\n[a](no-such.md) [b](#a-title-with-signs) [c](#none)")
    assert list(broken_links(page, page.read_text())) == ["no-such.md", "#none"]


def test_a_missing_path_is_found() -> None:
    assert missing_paths("systems/no-such.toml, core/policy.h and `tests/docs`") == [
        "systems/no-such.toml"
    ]


def test_a_wrong_output_is_found() -> None:
    (block,) = console.blocks("```console\n$ echo one\ntwo\n$ (exit 7)\n$ echo $?\n7\n```\n")
    (printed,) = console.run([block])
    assert printed == ["one", "", "7"]
    assert [step.output for step in block.steps] == ["two", "", "7"]


def test_files_of_a_page_are_there_for_the_commands_below_them() -> None:
    file = '```toml title="a.toml"\n{}\n```\n'
    see = "```console\n$ cat a.toml\n```\n"
    found = console.blocks(see + file.format("x = 1") + see + file.format("x = 2") + see)
    before, *printed = console.run(found)
    assert "No such file" in before[0]
    assert printed == [["x = 1"], ["x = 2"]]


# -- the pages are right -------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_links_lead_somewhere(page: Path) -> None:
    assert list(broken_links(page, page.read_text())) == []


def test_the_first_page_leads_to_all_others() -> None:
    """Those of single policies and lessons by their overviews."""
    docs = TOP / "docs"
    overviews = [docs / name for name in ("index.md", "policies.md", "lessons.md")]
    first = "".join(page.read_text() for page in overviews)
    led = {(docs / name).resolve() for name in re.findall(r"\]\(([^)#:]+\.md)[)#]", first)}
    assert sorted(str(page) for page in set(docs.rglob("*.md")) - led - {overviews[0]}) == []


def test_who_is_attached_has_a_server_in_the_system() -> None:
    """Servers are called as the domains of the system that `linux start` puts in force."""
    found = 0
    for page in PAGES:
        text = page.read_text().replace("\\\n", " ")
        for file, rest in re.findall(r"hyperperiod linux start (systems/\S+)(.*)", text):
            names = {domain.name for domain in load_system(TOP / file).domains}
            attached = re.findall(r"--attach (\S+?)=", rest)
            assert set(attached) <= names, page
            found += len(attached)
    assert found > 0


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_named_paths_exist(page: Path) -> None:
    assert missing_paths(page.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_commands_print_what_the_page_shows(page: Path) -> None:
    found = console.blocks(page.read_text())
    for block, printed in zip(found, console.run(found), strict=True):
        for step, output in zip(block.steps, printed, strict=True):
            assert output == step.output, step.command


@pytest.mark.parametrize("name", timeline.PICTURES)
def test_pictures_are_what_the_simulator_does(name: str) -> None:
    assert (TOP / "docs" / "pictures" / f"{name}.svg").read_text() == timeline.svg(name)


@pytest.mark.parametrize("name", spreads.PICTURES)
def test_bars_are_those_of_their_numbers(name: str) -> None:
    picture = spreads.PICTURES[name]
    text = picture.svg(read()[picture.section].numbers)
    assert (spreads.FOLDER / f"{name}.svg").read_text() == text


def test_every_package_that_the_tools_install_is_explained() -> None:
    page = (TOP / "docs/howto/install.md").read_text()
    array = re.search(r"(?s)packages=\((.*?)\n\)", (TOP / "tools/install_packages").read_text())
    assert array
    names = re.sub(r"#.*", "", array[1]).split()
    names += re.findall(
        r"(?m)need_program \S+ ([\w-]+)$", (TOP / "tools/prerequisites").read_text()
    )
    assert len(names) > 20
    assert [
        name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", page)
    ] == []


def test_badges_speak_of_workflows_that_there_are() -> None:
    badges = re.findall(r"/actions/workflows/([\w.-]+)/badge", (TOP / "README.md").read_text())
    assert badges
    assert [name for name in badges if not (TOP / ".github/workflows" / name).exists()] == []


def test_every_policy_has_a_page() -> None:
    pages = "".join(page.read_text() for page in TOP.glob("docs/policies/*.md"))
    for name in PRESETS:
        assert f'`policy = "{name}"`' in pages


def test_the_policies_of_the_core_are_those_of_the_model() -> None:
    rows = core_policies()
    assert rows.keys() == PRESETS.keys()
    for name, (scope, *rules) in rows.items():
        preset = PRESETS[name]
        assert rules == [preset.budget, preset.order, preset.slack]
        assert preset.scope == ("global" if scope == "global" else "partitioned")


def test_every_key_of_a_system_is_described() -> None:
    page = (TOP / "docs" / "formats.md").read_text()
    keys = sorted(set(keys_of(system_schema())))
    assert [key for key in keys if not re.search(rf"`(?:\[\[)?{key}\b", page)] == []


def test_every_key_of_a_result_is_described() -> None:
    page = (TOP / "docs" / "formats.md").read_text()
    definitions: dict[str, Any] = {}
    for one in (AnalysisResult, ComparisonResult):
        Object(one).schema(definitions)
    keys = {key for one in definitions.values() for key in keys_of(one)}
    assert [key for key in sorted(keys) if not re.search(rf"[`.]{key}\b", page)] == []


def test_every_example_system_is_shown() -> None:
    page = (TOP / "docs" / "examples.md").read_text()
    names = [path.stem for path in TOP.glob("systems/*.toml")]
    assert [name for name in names if not re.search(rf"(?m)^### {name}$|`{name}`", page)] == []


def test_every_command_is_shown_with_its_options() -> None:
    shown = re.findall(r"(?m)^\$ hyperperiod (\w+) --help$", (TOP / "docs/commands.md").read_text())
    assert set(main.list_commands(click.Context(main))) <= set(shown)


def test_every_example_and_picture_is_used() -> None:
    pages = "".join(page.read_text() for page in PAGES)
    for file in [*TOP.glob("docs/examples/*"), *TOP.glob("docs/pictures/*")]:
        assert file.name in pages, file


def test_the_tables_of_proofs_are_those_of_the_analysis() -> None:
    """`python docs/proofs.py --write` renews the page."""
    page = proofs.PAGE.read_text(encoding="utf-8")
    assert proofs.renewed(page) == page
    assert proofs.renewed(page.replace("| cbs | edf |", "| cbs | fp |")) == page
    with pytest.raises(ValueError, match="0 tables"):
        proofs.renewed(page.replace("| budget |", "| rule |"))


def test_the_tables_of_keys_are_those_of_the_classes() -> None:
    """What a key means stands with its field; `python docs/keys.py --write` renews the page."""
    page = keys.PAGE.read_text(encoding="utf-8")
    assert keys.renewed(page) == page
    assert keys.renewed(page.replace("how often the budget comes", "how often")) == page
    with pytest.raises(ValueError, match="0 tables"):
        keys.renewed(page.replace("| top level |", "| top |"))
