# SPDX-License-Identifier: BSD-2-Clause
"""The site is built: no broken link, every page in the navigation, nothing from the network.

The build is strict, so that a warning ends it; that it does is shown by pages that are wrong.
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from docs.site_hook import TOP, site_link
from tests.support.browser import acted, needs_browser, opened, violations

pytestmark = pytest.mark.xdist_group("site")  # built once
HOME = "https://example.org/repository"
# What a page of the site loads when it is opened: scripts, styles, pictures, fonts, frames.
LOADED = re.compile(
    r'<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]*)"|<link\b(?=[^>]*\brel="stylesheet")[^>]*'
    r'\bhref="([^"]*)"|url\(([^)]*)\)'
)

# In a lesson as slides: keys, a button and Escape. What was found ends up in the page.
LESSON_READER = """
const found = {}, press = (key) =>
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const seen = () => [...document.querySelectorAll("article h1, article h2")]
  .filter((one) => one.checkVisibility()).map((one) => one.firstChild.textContent);
found.opened = seen();
["ArrowRight", "ArrowRight", "ArrowLeft"].forEach(press);
found.moved = seen();
found.focus = document.activeElement.firstChild.textContent;
const next = [...document.querySelectorAll("article button")].at(-1);
next.click(); ["PageDown", " ", "PageUp"].forEach(press);
found.paged = [...seen(), location.search + location.hash];
found.link = document.querySelector("article a[href*='polling.html']").search;
document.querySelector("article code").tabIndex = 0;
document.querySelector("article code").focus();
press("Escape");
found.ended = seen();
found.address = location.search;
document.body.append(Object.assign(document.createElement("pre"), { id: "found",
  textContent: JSON.stringify(found) }));
"""
# A page of each kind.
READ = ("index.html", "lessons/back-to-back.html", "commands.html", "policies/ds.html",
    "notebooks/first-system.html", "semantics.html")  # fmt: skip
CODE_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# A list inside a list: GitHub is content with two spaces, the site takes four.
SHALLOW = re.compile(r"^ {1,3}(?:[-*]|\d+\.) .*", re.MULTILINE)


def build(config: Path, into: Path) -> subprocess.CompletedProcess[str]:
    """Builds a site and returns how that ended, with all messages in `stdout`.

    Not with --quiet: warnings that are not shown do not end a strict build.
    """
    command = [sys.executable, "-m", "mkdocs", "build"]
    return subprocess.run(
        [*command, "-f", str(config), "-d", str(into)],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the built site."""
    folder = tmp_path_factory.mktemp("site")
    done = build(TOP / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture(scope="module")
def quiet(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the site's READ pages and what they load, without the theme's own script: it asks
    for the search index, which a browser gives no file."""
    folder = tmp_path_factory.mktemp("quiet")
    shutil.copytree(site, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("search"))
    for name in READ:
        page = folder / name
        page.write_text(re.sub(r'<script src="[^"]*bundle[^"]*"></script>', "", page.read_text()))
    return folder


def loaded(text: str) -> list[str]:
    """What a page or style sheet makes a browser fetch."""
    return ["".join(groups).strip("'\"") for groups in LOADED.findall(text)]


def foreign(files: list[str]) -> list[str]:
    """Those of them that would come from another machine."""
    return [name for name in files if re.match(r"(?:https?:)?//", name)]


# -- the checks trip on what is wrong ------------------------------------------------------------


def test_a_broken_link_and_a_page_without_a_place_end_the_build(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Title\n[a](no-such.md) [b](other.md#none) [c](../gone.py)\n")
    (docs / "other.md").write_text("# Other\n")
    (docs / "forgotten.md").write_text("# Forgotten\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(
        f"INHERIT: {TOP / 'mkdocs.yml'}\n"
        "nav: [index.md, other.md, architecture.md, contributing.md]\n"
        f"hooks: [{TOP / 'docs' / 'site_hook.py'}]\n"
        "theme: { name: mkdocs, logo: null, favicon: null }\n"
    )
    done = build(config, tmp_path / "site")
    assert done.returncode == 1
    for sign in ("'no-such.md'", "anchor '#none'", "'../gone.py'", "- forgotten.md"):
        assert sign in done.stdout, done.stdout


def test_what_comes_from_another_machine_is_found() -> None:
    page = (
        '<script src="a.js"></script><script src="//cdn.example.org/b.js"></script>'
        '<link rel="stylesheet" href="https://fonts.example.org/c"><a href="https://d.org">d</a>'
    )
    assert foreign(loaded(page)) == ["//cdn.example.org/b.js", "https://fonts.example.org/c"]


def test_a_list_that_only_github_shows_is_found() -> None:
    text = "- a\n    - deep enough\n  - not deep enough\n```\n  - code\n```\n"
    assert SHALLOW.findall(CODE_BLOCK.sub("", text)) == ["  - not deep enough"]


# -- the site is right ---------------------------------------------------------------------------


def test_every_page_is_built(site: Path) -> None:
    pages = {path.relative_to(TOP / "docs") for path in TOP.glob("docs/**/*.md")}
    pages |= {Path("architecture.md"), Path("contributing.md")}
    built = {path.relative_to(site) for path in site.rglob("*.html")}
    assert {page.with_suffix(".html") for page in pages} == built - {Path("404.html")}


def test_lists_in_lists_are_deep_enough_for_both() -> None:
    for page in [*TOP.glob("*.md"), *TOP.glob("docs/**/*.md")]:
        assert SHALLOW.findall(CODE_BLOCK.sub("", page.read_text())) == [], page


def test_nothing_is_loaded_from_another_machine(site: Path) -> None:
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert sum(len(loaded(file.read_text())) for file in files) > 100
    assert [name for file in files for name in foreign(loaded(file.read_text()))] == []
    # The theme's script asks GitHub about a repository that stands in the page like this.
    assert [file for file in files if 'data-md-component="source"' in file.read_text()] == []


def test_lessons_can_be_read_without_seeing_them(site: Path) -> None:
    """One title, headings in order, a name for each picture, column and button that unfolds."""
    pages = sorted((site / "lessons").glob("*.html"))
    assert len(pages) == 12
    for page in pages:
        article = re.search(r"<article.*?</article>", page.read_text(), re.DOTALL)
        assert article
        levels = re.findall(r"<h(\d)", article[0])
        assert levels == ["1", *["2"] * 7], page
        alts = re.findall(r'<img alt="([^"]*)"', article[0])
        assert len(alts) == article[0].count("<img") > 0
        assert min(map(len, alts)) > 40, page
        assert article[0].count("<summary>") == article[0].count("<details>") == 2, page
        assert "<th></th>" not in article[0], page


@needs_browser
def test_a_lesson_is_slides_by_the_keyboard(quiet: Path, tmp_path: Path) -> None:
    page = acted(quiet / "lessons" / "back-to-back.html", LESSON_READER)
    shown = opened(page, tmp_path, "?slides")
    text = re.search(r'<pre id="found">(.*?)</pre>', shown, re.DOTALL)
    assert text
    found = json.loads(html.unescape(text[1]))
    title = "Lesson 2: the server that does more harm by idling"
    assert found["opened"] == [title]
    assert found["moved"] == [found["focus"]] == ["The system"]
    assert found["paged"] == ["Your prediction", "?slides#your-prediction"]
    assert found["link"] == "?slides"
    assert found["address"] == ""
    assert found["ended"][:3] == [title, "The system", "The question"]


@needs_browser
def test_pages_keep_the_rules_of_axe(quiet: Path, tmp_path: Path) -> None:
    slides = "lessons/back-to-back.html?slides"
    pages = {name: quiet / name.partition("?")[0] for name in (*READ, slides)}
    found = violations(pages, tmp_path, "article")
    # The theme's own script lets the keyboard into a block of code that scrolls.
    scrolls = re.compile(r"\w+: scrollable-region-focusable: .* > pre > code")
    assert [one for each in found.values() for one in each if not scrolls.fullmatch(one)] == []


def test_search_finds_words_of_every_page(site: Path) -> None:
    index = (site / "search" / "search_index.json").read_text()
    for page in TOP.glob("docs/**/*.md"):
        name = page.relative_to(TOP / "docs").with_suffix(".html")
        assert f'"location":"{name}"' in index, name


@pytest.mark.parametrize(
    ("page", "target", "there"),
    [
        ("tour.md", "fit.md", "fit.md"),
        ("policies/ds.md", "../pictures/ds.svg", "../pictures/ds.svg"),
        ("policies.md", "../ARCHITECTURE.md", "architecture.md"),
        ("policies/ds.md", "../../ARCHITECTURE.md", "../architecture.md"),
        ("xen/toolstack.md", "../../README.md", "../index.md"),
        ("architecture.md", "docs/semantics.md", "semantics.md"),
        ("architecture.md", "docs/pictures/decision.svg", "pictures/decision.svg"),
        ("contributing.md", "ARCHITECTURE.md", "architecture.md"),
        ("policies/ds.md", "../../core/budget", f"{HOME}/tree/main/core/budget"),
        ("analysis/flows.md", "../../systems/packet-path.toml", f"{HOME}/blob/main/systems"),
        ("policies/ds.md", "../examples/late-work.toml", f"{HOME}/blob/main/docs/examples"),
        ("contributing.md", "docs/timeline.py", f"{HOME}/blob/main/docs/timeline.py"),
        ("tour.md", "../no-such.py", "../no-such.py"),
    ],
)
def test_links_lead_to_the_same_place_as_on_github(page: str, target: str, there: str) -> None:
    link = site_link(target, page, HOME)
    assert link.startswith(there) if there.startswith(HOME) else link == there
