# SPDX-License-Identifier: BSD-2-Clause
"""A naive tick model of the scheduling semantics: the oracle for the core."""
