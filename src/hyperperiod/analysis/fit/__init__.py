# SPDX-License-Identifier: BSD-2-Clause
"""Fitting: interfaces, pcpus and priorities chosen for a system, with a proof and a bound.

`fit.fit` is the whole; `problem` says what is open, `candidates` what may be chosen, `pcpu_test`
what may share a pcpu, `cost` what a choice costs, `heuristics` finds choices, `exact` the best.
"""
