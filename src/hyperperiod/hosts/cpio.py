# SPDX-License-Identifier: BSD-2-Clause
"""Archives as Linux unpacks them into its initial file system; several may follow one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath

FOLDER_MODE, FILE_MODE, LINK_MODE = 0o040755, 0o100755, 0o120777
END = "TRAILER!!!"

Contents = Mapping[str, bytes | str | None]
"""Files by name; a text is the target of a symbolic link, None a folder."""


def archive(contents: Contents) -> bytes:
    """A cpio archive in the "newc" form, in which everything belongs to root.

    The folders in which a file is come before it, whether or not they are named.
    """
    whole: dict[str, bytes | str | None] = {}
    for name, data in contents.items():
        above = [str(folder) for folder in reversed(PurePath(name).parents[:-1])]
        whole |= {folder: None for folder in above if folder not in whole}
        whole[name] = data
    return b"".join(_entries({**whole, END: b""}))


def _entries(contents: Contents) -> Iterator[bytes]:
    for number, (name, data) in enumerate(contents.items(), 1):
        mode = FOLDER_MODE if data is None else LINK_MODE if isinstance(data, str) else FILE_MODE
        content = data.encode() if isinstance(data, str) else data or b""
        links = 2 if data is None else 1
        fields = (number, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        header = "070701" + "".join(f"{field:08X}" for field in fields) + name + "\0"
        yield _padded(header.encode())
        yield _padded(content)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
