# SPDX-License-Identifier: BSD-2-Clause
"""Why a deadline holds or not: the critical instant, the window, and who takes how much in it.

For people who want to see why, and for the plot of demand against supply. `explain` takes a task
(domain.task), a server (its domain) or a domain inside another one, and gives what
`analyze --json` prints under "explain". The verdict is that of the analysis; the account beside
it shows the plain test of the kind of scheduler at hand (`fixed_priority`, `edf`, `fifo`,
`servers`). Where the analysis knows a sharper test than the account, the text says so.
"""

from hyperperiod.analysis.explain.explanation import explain

__all__ = ["explain"]
