# SPDX-License-Identifier: BSD-2-Clause
"""Servers on the pcpus of a host: whether each gets its budget in every period."""
