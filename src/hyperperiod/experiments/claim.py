# SPDX-License-Identifier: BSD-2-Clause
"""A sentence about what was measured that can turn out wrong, with the paper's beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Claim:
    """A sentence, what the paper found, what we found, and whether the sentence holds."""

    text: str
    paper: str
    ours: str
    holds: bool

    def as_json(self) -> dict[str, Any]:
        return {"text": self.text, "paper": self.paper, "ours": self.ours, "holds": self.holds}
