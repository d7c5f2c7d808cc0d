# SPDX-License-Identifier: BSD-2-Clause
"""A sentence about what was measured that can turn out wrong, with the paper's beside it."""

from __future__ import annotations

from hyperperiod.model.result_object import ResultObject


class Claim(ResultObject):
    """A sentence, what the paper found, what we found, and whether the sentence holds."""

    text: str
    paper: str
    ours: str
    holds: bool

    def __init__(self, text: str, paper: str, ours: str, holds: bool) -> None:
        super().__init__(text=text, paper=paper, ours=ours, holds=holds)
