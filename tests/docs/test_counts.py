# SPDX-License-Identifier: BSD-2-Clause
"""Numbers of things that pages give in words are those that the program has."""

from __future__ import annotations

from pathlib import Path

import pytest

from hyperperiod.model import PRESETS
from hyperperiod.trace.properties import PROPERTIES

TOP = Path(__file__).parents[2]
WORDS = {12: "twelve", 15: "fifteen"}
POLICIES = WORDS[len({policy.rules for policy in PRESETS.values()})]
CHECKS = WORDS[len(PROPERTIES)]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("README.md", f"[{POLICIES.capitalize()} policies](docs/policies.md) have names"),
        ("docs/linux/guarantees.md", f"by {POLICIES} policies that can be swapped"),
        ("ARCHITECTURE.md", f"{CHECKS} properties"),
        ("docs/formats.md", f"{CHECKS} properties"),
        ("docs/tested.md", f"{CHECKS} properties"),
    ],
)
def test_pages_count_right(page: str, text: str) -> None:
    assert text in (TOP / page).read_text()
