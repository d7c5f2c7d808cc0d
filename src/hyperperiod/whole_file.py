# SPDX-License-Identifier: BSD-2-Clause
"""Files that appear whole or not at all, and what is wrong with a place before work begins."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from hyperperiod.model.errors import NO_ROOM, InputError, MissingError

if TYPE_CHECKING:
    from pathlib import Path

WRITABLE = "a file in a folder that can be written"


@contextlib.contextmanager
def whole_file(name: str | None, key: str) -> Iterator[Path | None]:
    """A path to write to; the file takes its name only if the block ends without an error.

    It is made in the folder where it will stand, before any work begins: an unwritable place is
    an InputError at once. Where the disk is full later, a MissingError names the file. Devices
    (`/dev/stdout`) are written directly. None stays None.
    """
    if name is None:
        yield None
        return
    from pathlib import Path

    target = Path(name)
    if is_device(name):
        with _named(name, target):
            yield target
        return
    draft = _draft(target, name, key)
    try:
        with _named(name, draft):
            yield draft
            draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


@contextlib.contextmanager
def _named(name: str, path: Path) -> Iterator[None]:
    """MissingError that names the file `name` if `path`, or a file without a name, is not written.

    That is a full disk or the like. What names another file is left alone, and so is a reader who
    went away.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename not in (None, str(path)):
            raise
        raise MissingError(f"{name}: {error_text(error)}") from None


def error_text(error: OSError) -> str:
    """Returns why the operating system refused something, without the name of the file."""
    return os.strerror(error.errno).lower() if error.errno else str(error)


def unwritable(
    name: str, key: str, error: OSError, allowed: str = WRITABLE
) -> InputError | MissingError:
    """Returns the error of a place that cannot be written: a full disk is the machine's fault."""
    if error.errno in NO_ROOM:
        return MissingError(f"{name}: {error_text(error)}")
    return InputError(name, None, key, error_text(error), allowed)


def require_writable(name: str | None, key: str) -> None:
    """InputError if `whole_file` could not write there: to be known before long work begins."""
    if name is not None and not is_device(name):
        from pathlib import Path

        _draft(Path(name), name, key).unlink()


def require_different(files: Mapping[str, str | None]) -> None:
    """InputError if two of the files (by what they are for) are the same: one would be lost."""
    named = {key: name for key, name in files.items() if name is not None and not is_device(name)}
    if len(named) < 2:
        return
    from pathlib import Path

    seen: dict[Path, str] = {}
    for key, name in named.items():
        place = Path(name).absolute()
        place = place.parent.resolve() / place.name
        if place in seen:
            raise InputError(name, None, key, f"the file of {seen[place]}", "another file")
        seen[place] = key


def is_device(name: str) -> bool:
    """Returns whether the name is of a device or pipe, which takes what is written as it comes."""
    try:
        mode = os.stat(name).st_mode  # noqa: PTH116 - no start waits for pathlib
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _draft(target: Path, name: str, key: str) -> Path:
    """An empty file beside the target, with the rights that a new file would have."""
    import tempfile
    from pathlib import Path

    try:
        if target.is_dir() or not target.name:
            raise InputError(name, None, key, "a directory", "a file to write")
        handle, draft = tempfile.mkstemp(
            prefix=f".{target.name[:40]}.", suffix=target.suffix, dir=target.parent
        )
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(handle, 0o666 & ~mask)
        os.close(handle)
    except OSError as error:
        raise unwritable(name, key, error) from None
    except ValueError:
        raise InputError(repr(name), None, key, "a null in the name", "a file name") from None
    return Path(draft)
