# SPDX-License-Identifier: BSD-2-Clause
"""The command line: one file per command, none of which computes anything itself.

Exit codes are the same everywhere: 0 = done and all is well, 1 = done and a deadline is missed
or a test fails, 2 = bad input, 3 = the environment lacks something, 70 = a mistake in this
program, 130 = interrupted. A command's file is imported when the command is asked for; it imports
at its top what every use of the command needs, and in its functions what only some options need.
"""

from __future__ import annotations

from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING, cast

import click

from hyperperiod.cli.group import ErrorGroup
from hyperperiod.commands import COMMANDS, PROSE, help_text
from hyperperiod.version import VERSION

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class _Commands(ErrorGroup):
    """A group that knows its commands by name and loads only what is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            module = import_module(f"hyperperiod.cli.{cmd_name}")
            command = cast("click.Command", getattr(module, cmd_name))
            command.help = f"{COMMANDS[cmd_name]}\n\n{cleandoc(command.help or '')}"
            self.add_command(command)
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            from hyperperiod.model.errors import did_you_mean

            hint = did_you_mean(args[0], COMMANDS)
            raise click.UsageError(
                f"found {args[0]!r}; allowed: {', '.join(sorted(COMMANDS))}{hint}"
            )
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002
        return help_text().rstrip("\n")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin like the word, and the options of the program."""
        from click.shell_completion import CompletionItem

        begun = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=COMMANDS[name]) for name in begun), *options]


@click.group(cls=_Commands, help=PROSE, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, message="%(prog)s %(version)s")
def main() -> None:
    """The command line as a whole."""
