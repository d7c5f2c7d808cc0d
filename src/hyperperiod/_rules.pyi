# SPDX-License-Identifier: BSD-2-Clause
# The rows of the core's rules (core/rules.h) and policies (core/policy.h), each in the order of
# its number; hyperperiod.model.policy makes the model's tables of them.

TIMED: int
KEEPS: int
PAYS_IDLE: int
WHEN_EMPTY: int
# Traits of budget rules, one bit each.

BUDGETS: tuple[tuple[str, int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...]
# Name, traits, the most that a server can hold in budgets; the numbers of the order rules that it
# goes with, of the slack rules on one pcpu, and of those on several together.

ORDERS: tuple[str, ...]
SLACKS: tuple[str, ...]

POLICIES: tuple[tuple[str, str, int, int, int], ...]
# Name, scope ("one", "partitioned" or "global"), and the numbers of the three rules.
