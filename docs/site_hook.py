# SPDX-License-Identifier: BSD-2-Clause
"""What the site needs beyond the pages of docs/: a hook of MkDocs, named in mkdocs.yml.

Pages are read on GitHub, where links lead through the whole repository, and on the site, which has
this folder only. So ARCHITECTURE.md and CONTRIBUTING.md join the site as pages, and a link to any
other file outside of it becomes one to that file on GitHub. A link to nothing is left alone: MkDocs
then finds it broken.

If the playground has been made, each example that it has leads to it, as the playground's own
addresses do.
"""

from __future__ import annotations

import html
import json
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mkdocs.structure.files import File

from hyperperiod.report.playground import address
from hyperperiod.resources import PLAYGROUND

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

TOP: Final = Path(__file__).parents[1]
# Pages at the top of the repository, and where the site has them.
TOP_PAGES: Final = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
}
PLAYGROUND_DATA: Final = re.compile(r'id="data">(.*?)</script>', re.DOTALL)
EXAMPLE: Final = re.compile(r"^### (\S+)$", re.MULTILINE)
CODE_BLOCK: Final = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LINK: Final = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages from the top of the repository, except README.md: the site has index.md."""
    for source, name in TOP_PAGES.items():
        if files.get_file_from_path(name) is None:
            files.append(File.generated(config, name, content=(TOP / source).read_text()))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, **_: object) -> str:
    """Returns the text of a page with its links as the site needs them; code is left as it is."""
    parts = CODE_BLOCK.split(markdown)
    for index in range(0, len(parts), 2):
        parts[index] = LINK.sub(
            lambda link: site_link(link[1], page.file.src_uri, config.extra["repository"]),
            parts[index],
        )
    found = "".join(parts)
    if page.file.src_uri == "examples.md" and PLAYGROUND.exists():
        return with_playground(found, PLAYGROUND)
    return found


def with_playground(markdown: str, playground: Path) -> str:
    """Returns the text with a link below the heading of each example that the playground has.

    Links are HTML, since MkDocs would look for the playground among the files of docs/.
    """
    data = PLAYGROUND_DATA.search(playground.read_text())
    names = {one["name"] for one in json.loads(data[1])["examples"]} if data else set()

    def linked(heading: re.Match[str]) -> str:
        if heading[1] not in names:
            return heading[0]
        link = html.escape(address(playground.name, {"name": heading[1]}))
        return f'{heading[0]}\n\n<a href="{link}">Open in the playground</a>'

    return EXAMPLE.sub(linked, markdown)


def site_link(target: str, page: str, repository: str) -> str:
    """Returns where a link of a page leads on the site.

    `target` is the link as written, without its anchor; `page` is the page's path on the site,
    `repository` the address that stands for files which the site does not have.
    """
    sources = {name: source for source, name in TOP_PAGES.items() if name != "index.md"}
    source = sources.get(page, f"docs/{page}")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    if path in TOP_PAGES:
        return posixpath.relpath(TOP_PAGES[path], posixpath.dirname(page) or ".")
    if path.startswith("docs/") and path.endswith((".md", ".svg", ".png")):
        return posixpath.relpath(path, posixpath.join("docs", posixpath.dirname(page)))
    if not (TOP / path).exists():
        return target
    return f"{repository}/{'tree' if (TOP / path).is_dir() else 'blob'}/main/{path}"
