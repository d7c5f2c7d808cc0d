# SPDX-License-Identifier: BSD-2-Clause
"""XML from outside as a tree of elements with their lines.

It can be hostile: document types (and with them every entity) are refused, and the size of a file
is bounded before a parser sees it; who reads a form says which element may stand where, and how
deep they may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from xml.parsers import expat

from hyperperiod.model.errors import InputError

DEEPEST = 40
"""How deep elements may be where a form says nothing else."""

Place = Callable[[str, str, int], tuple[str, str] | None]
"""What is found and what is allowed where an element may not stand; None if it may.

It is asked with the names of the element and of what it is in (none: ""), and how deep that is.
"""


class Element:
    """One XML element: where it stands, what it says, what is inside."""

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        self.tag = tag
        self.attributes = attributes
        self.line = line
        self.inside: list[Element] = []
        self.text = ""

    def all(self, *tags: str) -> Iterator[Element]:
        """Yields the elements in it that are called so, or in those in it for the next name."""
        for one in self.inside:
            if one.tag == tags[0]:
                yield from one.all(*tags[1:]) if len(tags) > 1 else (one,)

    def every(self) -> Iterator[Element]:
        """Yields the element and all in it, in the order of the file."""
        yield self
        for one in self.inside:
            yield from one.every()


def read_xml(
    file: str, text: str, place: Place, *, with_text: bool = False, deepest: int = DEEPEST
) -> Element:
    """The outermost element; InputError for anything that is no plain XML of this form.

    No element is in more than `deepest` others. Elements have a `text` only where it is asked for;
    elsewhere any is refused.
    """
    parser = expat.ParserCreate(encoding="utf-8")
    tree = _Tree(file, parser, place, with_text=with_text, deepest=deepest)
    parser.StartElementHandler = tree.start
    parser.EndElementHandler = tree.end
    parser.CharacterDataHandler = tree.text
    parser.StartDoctypeDeclHandler = tree.document_type
    try:
        parser.Parse(text.encode("utf-8"), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise InputError(file, error.lineno, "", reason, "well-formed XML") from None
    return tree.elements[0]


class _Tree:
    """Builds the tree while the parser reads, and stops it at the first thing not of the form."""

    def __init__(
        self,
        file: str,
        parser: expat.XMLParserType,
        place: Place,
        *,
        with_text: bool,
        deepest: int,
    ) -> None:
        self.file = file
        self.parser = parser
        self.place = place
        self.with_text = with_text
        self.deepest = deepest
        self.elements: list[Element] = []
        self.unfinished: list[Element] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        above = self.unfinished[-1] if self.unfinished else None
        depth = len(self.unfinished)
        wrong = self.place(tag, above.tag if above else "", depth)
        if wrong is None and depth > self.deepest:
            wrong = "elements nested deeper", f"{self.deepest} levels"
        if wrong is not None:
            raise self._refuse(tag, *wrong)
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        (above.inside if above else self.elements).append(element)
        self.unfinished.append(element)

    def end(self, _tag: str) -> None:
        self.unfinished.pop()

    def text(self, data: str) -> None:
        if self.with_text:
            self.unfinished[-1].text += data
        elif data.strip():
            raise self._refuse("", "text between elements", "elements only")

    def document_type(self, *_: object) -> None:
        raise self._refuse("DOCTYPE", "a document type", "plain XML without one")

    def _refuse(self, key: str, found: str, allowed: str) -> InputError:
        return InputError(self.file, self.parser.CurrentLineNumber, key, found, allowed)
