# SPDX-License-Identifier: BSD-2-Clause
"""The folder of a sweep: Parquet files, each there as a whole or not at all.

    sweep.json                  what was asked for
    systems/part-00000.parquet  one row per system and judge
    domains/part-00000.parquet  one row per domain
    tasks/part-00000.parquet    one row per task
    report.html                 the page, once all parts are done

A part is done when its file in `systems` is there. The three files are written under other names,
brought to the disk and renamed, that one last, so that whatever ends the work (Ctrl-C, a crash, a
full disk, the power) leaves parts that are done and parts that are not. Who goes on does the
latter, and a file that such a part has left behind is written again, with the same rows: no point
is lost and none is there twice. A lock keeps two sweeps out of one folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from hyperperiod.experiments.sweep.experiment import LoadedSweep
from hyperperiod.model import InputError
from hyperperiod.model.errors import NO_ROOM
from hyperperiod.version import VERSION

DESCRIPTION = "sweep.json"
SEAL = "systems"
TABLES = ("tasks", "domains", SEAL)
"""In the order in which the files of a part are written: the last one seals it."""
DRAFT = ".draft-"


class SweepFolder:
    """A folder with the parts that are done."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def done(self) -> set[int]:
        """The numbers of the parts that are done."""
        names = (one.name for one in (self.path / SEAL).glob("part-*.parquet"))
        return {int(name.removeprefix("part-").removesuffix(".parquet")) for name in names}

    def keep(self, number: int, tables: Mapping[str, bytes]) -> None:
        """Writes the files of a part; OSError, and nothing new that counts, if one cannot be."""
        for table in TABLES:
            _write_whole(self.file(table, number), tables[table])

    def file(self, table: str, number: int) -> Path:
        """Where the rows of a part are."""
        return self.path / table / f"part-{number:05d}.parquet"

    def files(self, table: str) -> list[Path]:
        """The files of a table, of parts that are done."""
        return [self.file(table, number) for number in sorted(self.done())]


@contextlib.contextmanager
def opened(path: Path, experiment: LoadedSweep, key: str = "--out") -> Iterator[SweepFolder]:
    """The folder of this experiment, made if need be, and nobody else's until the block ends.

    InputError, about `key`, for a folder that cannot be made or is of something else, or in which
    another sweep is under way.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        found = "a file" if path.is_file() else (error.strerror or "no folder").lower()
        raise InputError(str(path), None, key, found, "a folder to write to") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found = "a sweep that is under way in it"
            raise InputError(str(path), None, key, found, "another folder") from None
        _claim(path, experiment, key)
        for table in TABLES:
            (path / table).mkdir(exist_ok=True)
        for draft in path.glob(f"*/{DRAFT}*"):
            draft.unlink()
        yield SweepFolder(path)
    finally:
        os.close(lock)


def _claim(path: Path, experiment: LoadedSweep, key: str) -> None:
    """Notes what the folder is for; InputError if it is for something else.

    A sweep that ended before its first part was done, by an error perhaps, has nothing to lose: its
    folder is another one's for the asking.
    """
    description = path / DESCRIPTION
    said = {
        "experiment": experiment.sweep.name,
        "digest": experiment.digest,
        "points": len(experiment.points),
        "parts": len(experiment.parts()),
        "version": VERSION,
    }
    if not description.exists():
        if any(path.iterdir()):
            raise InputError(str(path), None, key, "a folder with other files", "an empty one")
        _describe(description, said)
        return
    try:
        known = json.loads(description.read_text())
        digest = known["digest"]
    except (ValueError, KeyError, TypeError):
        digest = None
    if digest is not None and not SweepFolder(path).done():
        for table in TABLES:
            for rest in (path / table).glob("part-*.parquet"):
                rest.unlink()
        _describe(description, said)
        return
    if digest != said["digest"]:
        found = "the results of another experiment"
        raise InputError(str(path), None, key, found, "a new folder, or that of this file")
    if known.get("version") != VERSION:
        found = f"results of version {known.get('version')}"
        allowed = f"those of {VERSION}, whose numbers may differ: a new folder"
        raise InputError(str(path), None, key, found, allowed)


def _describe(description: Path, said: Mapping[str, object]) -> None:
    _write_whole(description, json.dumps(said, indent=2).encode() + b"\n")


def _write_whole(path: Path, data: bytes) -> None:
    """Writes a file that is there as a whole or not at all, also after the power is gone."""
    draft = path.with_name(f"{DRAFT}{path.name}")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        # Written files have their name in the message, whatever part of the work it was.
        raise OSError(error.errno, error.strerror, str(path)) from None
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
