# SPDX-License-Identifier: BSD-2-Clause
"""What is in force, kept for the next start of hyperperiodd in the file that its unit performs.

The file is replaced whole. What was there is kept beside it, unless this has written that too.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from hyperperiod.hosts.linux.client import Client
from hyperperiod.model import MissingError

REQUESTS: Final = Path("/etc/hyperperiod/requests")
HEAD: Final = b"""\
# Written by `hyperperiod linux save`, which writes it anew. Without this line, what you make of
# this file is kept then, beside it and with .bak behind its name.
"""


def save(daemon: Client, path: Path | None = None) -> list[str]:
    """Writes the requests that make the system as it is; the daemon's warnings.

    InputError if there is none, MissingError if the file cannot be written.
    """
    answer, requests = daemon.ask_file("requests")
    path = path or REQUESTS
    new = path.with_name(f"{path.name}.new")
    try:
        with new.open("wb") as file:
            file.write(HEAD + requests)
            file.flush()
            os.fsync(file.fileno())
        if path.exists() and not path.read_bytes().startswith(HEAD):
            shutil.copy2(path, path.with_name(f"{path.name}.bak"))
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise MissingError(f"{path} cannot be written ({error.strerror})") from None
    warnings: list[str] = answer.get("warnings", [])
    return warnings
