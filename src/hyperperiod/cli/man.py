# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod man`: the help texts of all commands as one manual page.

The page is made from what `--help` prints when it is asked for, so that it cannot be out of date.
It is written in the macros of man(7).
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc

import click

from hyperperiod.version import VERSION


@click.command()
@click.pass_context
def man(ctx: click.Context) -> None:
    """\b
    hyperperiod man | man -l -                 shows it
    hyperperiod man > DIR/man1/hyperperiod.1   puts it where `man` looks
    """
    click.echo("\n".join(page(ctx.find_root())))


def page(root: click.Context) -> Iterator[str]:
    """The lines of the manual page of a program with commands."""
    name = root.command_path
    summary, description = _summary(root.command)
    yield f'.TH {name.upper()} 1 "" "{name} {VERSION}" "User Commands"'
    yield from (".SH NAME", f"{_text(name)} \\- {_text(summary)}")
    yield from (".SH SYNOPSIS", *_synopsis(root))
    yield from (".SH DESCRIPTION", *_paragraphs(description))
    yield from (".SH OPTIONS", *_options(root))
    yield ".SH COMMANDS"
    for below in _commands(root):
        yield f".SS {_text(below.command_path)}"
        yield from _synopsis(below)
        yield ".PP"
        yield from _paragraphs(cleandoc(below.command.help or ""))
        yield from _options(below)


def _commands(ctx: click.Context) -> Iterator[click.Context]:
    """Every command below a group that does something itself."""
    group = ctx.command
    if not isinstance(group, click.Group):
        yield ctx
        return
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None, "a group knows its commands"
        yield from _commands(click.Context(command, parent=ctx, info_name=name))


def _summary(command: click.Command) -> tuple[str, str]:
    """The first paragraph of a help text as a phrase, and the others."""
    first, _, rest = cleandoc(command.help or "").partition("\n\n")
    return " ".join(first.split()).rstrip("."), rest


def _synopsis(ctx: click.Context) -> Iterator[str]:
    yield f".B {_text(ctx.command_path)}"
    yield _text(" ".join(ctx.command.collect_usage_pieces(ctx)))


def _options(ctx: click.Context) -> Iterator[str]:
    """Each option with its help; `--help` only once, for the program itself."""
    for param in ctx.command.get_params(ctx):
        record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
        if record is None or ("--help" in param.opts and ctx.parent is not None):
            continue
        names, text = record
        yield from (".TP", f".B {_text(names)}", _text(text))


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text; those after \\b keep their lines."""
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        if number:
            yield ".PP"
        if paragraph.startswith("\b"):
            lines = paragraph.splitlines()[1:]
            yield from (".nf", *map(_text, lines), ".fi")
        else:
            yield _text(" ".join(paragraph.split()))


def _text(text: str) -> str:
    """Text in which nothing is a command, and hyphens can be copied as such."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
