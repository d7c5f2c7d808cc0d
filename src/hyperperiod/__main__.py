# SPDX-License-Identifier: BSD-2-Clause
"""What `hyperperiod` and `python -m hyperperiod` run.

`--help` and `--version` are asked by people who have just arrived. They are answered before the
library that reads command lines is loaded, which takes three times as long as they do; it shows the
same help (`commands`). Any other command line is handed to `cli`.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

from hyperperiod.commands import NAME, help_text
from hyperperiod.version import VERSION

_OBJECTS_OF_A_START = 50_000


def main() -> None:
    """Answers the arguments of this process; ends it unless they ask for help or version."""
    answers = {"--version": f"{NAME} {VERSION}\n", "-h": help_text(), "--help": help_text()}
    asked = sys.argv[1:]
    # Whoever completes a command line (a shell, by this variable) has no arguments either.
    if len(asked) == 1 and asked[0] in answers and "_HYPERPERIOD_COMPLETE" not in os.environ:
        try:
            sys.stdout.write(answers[asked[0]])
            sys.stdout.flush()
        except (AttributeError, OSError):
            pass  # nobody can be told here: the command line knows how that ends
        else:
            return
    # What a command made goes with its process. Without this the interpreter would look through all
    # of it for cycles before it ends, which takes longer than it takes to start. Before that, the
    # objects that a start makes, which all stay, are no reason to look for cycles among them.
    atexit.register(gc.freeze)
    gc.set_threshold(_OBJECTS_OF_A_START)
    from hyperperiod.cli import main as command_line

    command_line(prog_name=NAME)


if __name__ == "__main__":
    main()
