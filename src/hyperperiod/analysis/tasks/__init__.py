# SPDX-License-Identifier: BSD-2-Clause
"""Tasks on a pcpu: what they ask for in a window, and whether they get it in time."""
