# SPDX-License-Identifier: BSD-2-Clause
"""Archives as Linux unpacks them into its initial file system; several may follow one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

FOLDER_MODE, FILE_MODE = 0o040755, 0o100755
END = "TRAILER!!!"


def archive(contents: Mapping[str, bytes | None]) -> bytes:
    """A cpio archive in the "newc" form; None is a folder. Everything belongs to root."""
    return b"".join(_entries({**contents, END: b""}))


def _entries(contents: Mapping[str, bytes | None]) -> Iterator[bytes]:
    for number, (name, data) in enumerate(contents.items(), 1):
        mode = FOLDER_MODE if data is None else FILE_MODE
        links = 2 if data is None else 1
        size = len(data or b"")
        fields = (number, mode, 0, 0, links, 0, size, 0, 0, 0, 0, len(name) + 1, 0)
        header = "070701" + "".join(f"{field:08X}" for field in fields) + name + "\0"
        yield _padded(header.encode())
        yield _padded(data or b"")


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
