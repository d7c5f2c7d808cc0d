# SPDX-License-Identifier: BSD-2-Clause
"""Tests of global EDF on several pcpus, for whatever behaves as sporadic tasks."""
