# SPDX-License-Identifier: BSD-2-Clause
"""What a test says: true, false, or null with a reason.

True: guaranteed. False: an exact test found that it is not. None: no test covers the case, or
a test that is only sufficient did not confirm it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Verdict(NamedTuple):
    """`reason` is empty exactly when the verdict is true; `bound_ns` is a response-time bound."""

    holds: bool | None
    reason: str = ""
    bound_ns: int | None = None

    @classmethod
    def yes(cls, bound_ns: int | None = None) -> Verdict:
        return cls(True, "", bound_ns)

    @classmethod
    def no(cls, reason: str) -> Verdict:
        return cls(False, reason)

    @classmethod
    def unknown(cls, reason: str) -> Verdict:
        return cls(None, reason)


class NamedVerdict(NamedTuple):
    """The verdict of one test on a whole group, with its name and where it was published.

    `sound` is false for a test that is published but accepts what does not hold, or whose proof
    we do not have: it is shown beside the others and never counts.
    """

    test: str
    source: str
    sound: bool
    verdict: Verdict


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """False if one is false, else None if one is, else true; with the reason of the first such."""
    unknown: Verdict | None = None
    for verdict in verdicts:
        if verdict.holds is False:
            return Verdict.no(verdict.reason)
        if verdict.holds is None and unknown is None:
            unknown = Verdict.unknown(verdict.reason)
    return unknown or Verdict.yes()


def better(one: Verdict, other: Verdict) -> Verdict:
    """A yes before anything else, and of two the lower bound; the first where neither says more."""
    if not other.holds:
        return one
    if not one.holds:
        return other
    bounds = [verdict.bound_ns for verdict in (one, other) if verdict.bound_ns is not None]
    return Verdict.yes(min(bounds, default=None))
