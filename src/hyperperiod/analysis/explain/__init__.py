# SPDX-License-Identifier: BSD-2-Clause
"""Why a deadline holds or not: the critical instant, the window, and who takes how much in it.

For people who want to see why, and for the plot of demand against supply. `explain` takes a task
(domain.task), a server (its domain) or a domain inside another one, and gives what
`analyze --json` prints under "explain". It searches nothing itself: verdict and window come from
the same test, as its witness (`analysis.witness`), and are put into words and curves here.
"""

from hyperperiod.analysis.explain.explanation import explain, explain_moving

__all__ = ["explain", "explain_moving"]
