# SPDX-License-Identifier: BSD-2-Clause
"""The value of a key that is not in an object, where null says something else."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal


class Absent(Enum):
    """The type of `ABSENT`, for fields that have it as their default."""

    ABSENT = "absent"

    def __bool__(self) -> Literal[False]:
        return False


ABSENT: Final = Absent.ABSENT
