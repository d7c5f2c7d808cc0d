# SPDX-License-Identifier: BSD-2-Clause
"""Experiments of papers, run again: ours beside theirs."""
