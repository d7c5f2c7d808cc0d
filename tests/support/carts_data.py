# SPDX-License-Identifier: BSD-2-Clause
"""Inputs of CARTS, and the budgets that it computed for them: tests/data/carts."""

import json
from pathlib import Path

DATA = Path(__file__).parents[1] / "data" / "carts"
PAIRS = ("979581c", "4f21596", "7873188", "8164fe8", "a906aff")

Budgets = dict[int, int]
"""A component's budget by period."""


def carts_budgets(commit: str) -> dict[str, Budgets]:
    """The budgets of each component of an output, those of the root ("OS Scheduler") first."""
    components = json.loads((DATA / "airsched_budgets.json").read_text())[commit]
    return {name: dict(enumerate(budgets, first)) for name, (first, budgets) in components.items()}
