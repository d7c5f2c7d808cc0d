# SPDX-License-Identifier: BSD-2-Clause
"""Archives that a Linux kernel unpacks at boot: cpio in its "newc" form, gzipped.

Several archives may follow one another in one file: the kernel unpacks all of them, later files
over earlier ones.
"""

from __future__ import annotations

import gzip
import stat
from pathlib import Path

_ALIGN = 4


class Archive:
    """An archive that grows entry by entry; folders come by themselves."""

    def __init__(self) -> None:
        """An empty archive."""
        self._data = bytearray()
        self._folders: set[str] = set()
        self._count = 0

    def _entry(self, name: str, mode: int, content: bytes) -> None:
        self._count += 1
        raw = name.encode() + b"\0"
        numbers = [self._count, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(raw), 0]
        self._data += b"070701" + b"".join(b"%08X" % number for number in numbers)
        self._append(raw)
        self._append(content)

    def _append(self, raw: bytes) -> None:
        self._data += raw
        self._data += bytes(-len(self._data) % _ALIGN)

    def folder(self, name: str) -> None:
        """A folder and those above it."""
        parent = str(Path(name).parent)
        if name in {"", ".", "/"} or name in self._folders:
            return
        self.folder(parent)
        self._folders.add(name)
        self._entry(name, stat.S_IFDIR | 0o755, b"")

    def file(self, name: str, content: bytes, mode: int = 0o755) -> None:
        """A file."""
        self.folder(str(Path(name).parent))
        self._entry(name, stat.S_IFREG | mode, content)

    def link(self, name: str, target: str) -> None:
        """A symbolic link."""
        self.folder(str(Path(name).parent))
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def packed(self, level: int = 6) -> bytes:
        """The archive as a file that the kernel reads, the same bytes every time."""
        end = Archive()
        end._entry("TRAILER!!!", 0, b"")
        whole = gzip.compress(bytes(self._data + end._data), level, mtime=0)
        return whole + bytes(-len(whole) % _ALIGN)
