# SPDX-License-Identifier: BSD-2-Clause
"""Runs the console blocks of the documentation.

    python docs/console.py FILE.md ...           shows where a page says what is no longer true
    python docs/console.py --write FILE.md ...   puts in what the commands print today

A console block is fenced as `console`; lines that begin with `$ ` are commands, what follows is
what they print on both streams. The commands of one page run in one folder that has the
repository's systems, docs and proofs and an empty `out`; `$ echo $?` works, as in a shell. Spaces
at the ends of lines do not count. A block of another language with a title, fenced as
`toml title="a.toml"`, is a file that the reader writes: it is there for the commands below it.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

TOP: Final = Path(__file__).parents[1]
FENCE: Final = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE: Final = re.compile(r'^```\w+ title="([^"/]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
MARK: Final = "@@@ end of output @@@"


class Step(NamedTuple):
    """A command, and what the page says that it prints."""

    command: str
    output: str


class Block(NamedTuple):
    """A console block: its commands, and the files that the page shows since the block before."""

    steps: list[Step]
    files: dict[str, str]


def blocks(text: str) -> list[Block]:
    """The console blocks of a page."""
    found: list[Block] = []
    end = 0
    for match in FENCE.finditer(text):
        files = {file[1]: file[2] for file in FILE.finditer(text, end, match.start())}
        found.append(Block(list(steps(match[1])), files))
        end = match.end()
    return found


def steps(block: str) -> Iterator[Step]:
    """The commands of a block; a backslash at the end of a line continues it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.split("\n")
        length = 1
        while lines[length - 1].endswith("\\"):
            length += 1
        yield Step("\n".join(lines[:length]), tidy("\n".join(lines[length:])))


def tidy(output: str) -> str:
    """Without spaces at the ends of lines and blank lines at either end."""
    return "\n".join(line.rstrip() for line in output.split("\n")).strip("\n")


def run(found: list[Block]) -> list[list[str]]:
    """What the commands of one page print now."""
    with folder() as place:
        return [run_block(block, place) for block in found]


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """The folder in which the commands of a page run."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "out").mkdir()
        for part in ("systems", "docs", "proofs"):
            (place / part).symlink_to(TOP / part)
        yield place


def run_block(block: Block, folder: Path) -> list[str]:
    """Writes the files of one block and runs its commands in one shell."""
    for name, text in block.files.items():
        (folder / name).write_text(text)
    script = "".join(
        f"{step.command}\nlast=$?; echo; echo '{MARK}'; (exit $last)\n" for step in block.steps
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return [tidy(output) for output in done.stdout.split(MARK)[:-1]]


def rewritten(text: str) -> str:
    """The page with what its commands print now."""
    outputs = iter(run(blocks(text)))

    def block(match: re.Match[str]) -> str:
        parts = [
            f"$ {step.command}\n" + (f"{output}\n" if output else "")
            for step, output in zip(steps(match[1]), next(outputs), strict=True)
        ]
        return f"```console\n{''.join(parts)}```"

    return FENCE.sub(block, text)


def pages() -> list[Path]:
    """Every page of the documentation."""
    return sorted([*TOP.glob("*.md"), *TOP.glob("docs/**/*.md")])


def main(arguments: list[str]) -> int:
    """Checks or rewrites the named pages, or all."""
    write = "--write" in arguments
    names = [Path(name) for name in arguments if name != "--write"]
    wrong = 0
    for page in names or pages():
        text = page.read_text()
        new = rewritten(text)
        if new != text and write:
            page.write_text(new)
        elif new != text:
            print(f"{page}: not what the commands print")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
