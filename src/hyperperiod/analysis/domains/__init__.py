# SPDX-License-Identifier: BSD-2-Clause
"""Domains: the supply that an interface guarantees, whether it serves the tasks inside, and the
least interface that does."""
