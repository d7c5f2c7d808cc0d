# SPDX-License-Identifier: BSD-2-Clause
"""Flows: items that pass tasks of several domains, and how long they take from end to end."""
