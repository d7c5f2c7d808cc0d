# SPDX-License-Identifier: BSD-2-Clause
"""Makes the changes of findings (`fix`), and takes them back (`unfix`).

What a file said is recorded before it is changed, so that whatever ends this process, `unfix`
knows all that was changed. The record is in /run: a start of the machine empties it, and undoes the
changes. A file that is changed once more keeps in the record what it said first; one that somebody
else has changed since is left alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hyperperiod.hosts.linux.obstacles import Finding
from hyperperiod.hosts.linux.readings import Readings
from hyperperiod.model import InputError, MissingError
from hyperperiod.whole_file import error_text, whole_file

RECORD: Final = "run/hyperperiod-doctor.json"


@dataclass(frozen=True)
class Changed:
    """What was done to a file: `failed` says why it is as it was."""

    path: str
    before: str
    after: str
    failed: str = ""


Record = dict[str, dict[str, str]]
"""By path, what a file said before it was changed, and what it was given."""


def fix(files: Readings, findings: Iterable[Finding]) -> list[Changed]:
    """Makes all changes that are not made yet."""
    changed = []
    with _recorded(files) as record:
        for change in (change for finding in findings for change in finding.changes):
            before = files.chosen(change.path)
            if before is None or before == change.value:
                continue
            known = record.get(change.path)
            record[change.path] = {
                "before": known["before"] if known else before,
                "after": change.value,
            }
            _write_record(files, record)
            failed = _write(files, change.path, change.value)
            if failed and known is None:
                del record[change.path]
                _write_record(files, record)
            changed.append(Changed(f"/{change.path}", before, change.value, failed))
    return changed


def unfix(files: Readings) -> list[Changed]:
    """Gives all files that `fix` has changed what they said before."""
    changed = []
    with _recorded(files) as record:
        for path, texts in reversed(list(record.items())):
            one = _restored(files, path, **texts)
            if one is not None:
                changed.append(one)
            if files.chosen(path) != texts["after"]:
                del record[path]
                _write_record(files, record)
    return changed


def _restored(files: Readings, path: str, before: str, after: str) -> Changed | None:
    """What was done to a file that was changed; None where it says already what it said before."""
    now = files.chosen(path)
    if now is None or now == before:
        return None
    failed = _write(files, path, before) if now == after else "left alone, changed since"
    return Changed(f"/{path}", now, before, failed)


@contextlib.contextmanager
def _recorded(files: Readings) -> Iterator[Record]:
    """The record, which nobody else changes meanwhile."""
    if os.geteuid() != 0:
        raise MissingError("only root may change settings of the kernel: use sudo")
    path = files.root / RECORD
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield _read_record(path)


def _read_record(path: Path) -> Record:
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_bytes())
    except ValueError:
        found = None
    if not isinstance(found, Mapping) or not all(map(_is_entry, found.values())):
        raise InputError(str(path), None, "", "no record of `--fix`", "what it wrote, or no file")
    return dict(found)


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, Mapping)
        and entry.keys() == {"before", "after"}
        and all(isinstance(text, str) for text in entry.values())
    )


def _write_record(files: Readings, record: Record) -> None:
    path = files.root / RECORD
    if not record:
        path.unlink(missing_ok=True)
        return
    with whole_file(str(path), "--fix") as draft:
        assert draft is not None
        draft.write_text(json.dumps(record, indent=2) + "\n")


def _write(files: Readings, path: str, value: str) -> str:
    """Writes a file of the kernel's; why it cannot be, or an empty text."""
    try:
        (files.root / path).write_text(value)
    except OSError as error:
        return f"refused by the kernel: {error_text(error)}"
    return ""
