# SPDX-License-Identifier: BSD-2-Clause
"""A sentence about what was measured that can turn out wrong, with the paper's beside it.

Its mark tells whose it is: `paper` where the paper says it of its own figure, `ours` where the
paper says nothing of it, `contradicts` where it cannot be true together with one of its sentences.
"""

from __future__ import annotations

from typing import Final, Literal

from hyperperiod.model.result_object import ResultObject

ClaimMark = Literal["paper", "ours", "contradicts"]
MARKS: Final[dict[ClaimMark, str]] = {
    "paper": "the paper's",
    "ours": "ours",
    "contradicts": "contradicts the paper",
}


class Claim(ResultObject):
    """A sentence, whose it is, what the paper found, what we found, and whether it holds."""

    text: str
    mark: ClaimMark
    paper: str
    ours: str
    holds: bool

    def __init__(
        self, text: str, paper: str, ours: str, holds: bool, mark: ClaimMark = "paper"
    ) -> None:
        super().__init__(text=text, mark=mark, paper=paper, ours=ours, holds=holds)
