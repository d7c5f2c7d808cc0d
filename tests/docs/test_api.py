# SPDX-License-Identifier: BSD-2-Clause
"""The reference of what programs call is that of the package as it is, and leaves no name out."""

from __future__ import annotations

import re

from docs.api import PAGE, page

import hyperperiod as hp


def test_the_page_is_that_of_the_package() -> None:
    assert PAGE.read_text() == page(), "python -m docs.api --write"


def test_every_name_is_on_it() -> None:
    names = re.findall(r"^### hp\.(\w+)$", PAGE.read_text(), re.MULTILINE)
    assert sorted(names) == sorted(hp.__all__)


def test_everything_on_it_is_explained() -> None:
    """Each heading has a text of its own: a docstring that says something."""
    sections = re.split(r"^###+ ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    for section in sections:
        prose = re.sub(r"```.*?```|^\|.*$|^## .*$", "", section, flags=re.MULTILINE | re.DOTALL)
        name, _, text = prose.partition("\n")
        assert len(text.split()) > 3, name
