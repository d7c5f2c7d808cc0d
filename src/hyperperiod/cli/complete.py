# SPDX-License-Identifier: BSD-2-Clause
"""What a shell may complete: files by itself, policies and hosts also in lists, names in a system.

Each function takes what click gives to a `shell_complete`: the context with the parameters before
it, the parameter, and the beginning of a word. docs/shell.md says how a shell is told to ask.
"""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from hyperperiod.hosts import ALL_HOSTS
from hyperperiod.model import POLICIES, InputError, load_system
from hyperperiod.model.load import STDIN


def files(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """One item that tells the shell to complete names of files."""
    return [CompletionItem(begun, type="file")]


def folders(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """One item that tells the shell to complete names of folders."""
    return [CompletionItem(begun, type="dir")]


def policies(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The names of policies that begin like the word."""
    return _matching(_policies(), begun)


def several_policies(
    _ctx: click.Context, _param: click.Parameter, begun: str
) -> list[CompletionItem]:
    """The last of several policies, separated by commas, none of them twice."""
    return _in_list(_policies(), begun)


def several_hosts(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The last of several hosts, separated by commas, none of them twice."""
    return _in_list(ALL_HOSTS, begun)


def explained(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """The domains and tasks of the system that the command line names, if it can be read."""
    # Behind an option without its value click has not yet given the arguments their names.
    words = (word for word in ctx.args if not word.startswith("-"))
    file = ctx.params.get("system_file") or next(words, STDIN)
    if file == STDIN:
        return []
    try:
        system = load_system(file)
    except InputError:
        return []
    names = [domain.name for domain in system.domains]
    names += [f"{domain.name}.{task.name}" for domain in system.domains for task in domain.tasks]
    return _matching(names, begun)


def examples(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Completes the names of example systems and sweeps."""
    from hyperperiod.resources import example_files

    return _matching((name for files in example_files().values() for name in files), begun)


def members(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """KIND: of what may belong to a server; then containers and services, virtual machines.

    bash takes a colon for a word of its own, and wants what follows it alone.
    """
    from hyperperiod.hosts.linux.members import KINDS, names_of

    given = [*(ctx.params.get("members") or ()), begun]
    if ":" in given[-2:] and len(given) > 1:
        at = len(given) - 1 - given[::-1].index(":")
        return _matching(names_of(given[at - 1]), begun.removeprefix(":"))
    kind, colon, what = begun.partition(":")
    if not colon:
        return _matching((f"{one}:" for one in KINDS), begun)
    return _matching(names_of(kind), what, f"{kind}:")


def _policies() -> list[str]:
    return list(POLICIES)


def _matching(names: Iterable[str], begun: str, before: str = "") -> list[CompletionItem]:
    return [CompletionItem(before + name) for name in names if name.startswith(begun)]


def _in_list(names: Iterable[str], begun: str) -> list[CompletionItem]:
    before, comma, last = begun.rpartition(",")
    taken = before.split(",")
    return _matching((name for name in names if name not in taken), last, before + comma)
