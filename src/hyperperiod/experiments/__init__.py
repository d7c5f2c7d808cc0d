# SPDX-License-Identifier: BSD-2-Clause
"""Experiments over many systems: what is drawn, what judges it, and how sure a mean is."""
