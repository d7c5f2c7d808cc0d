# SPDX-License-Identifier: BSD-2-Clause
"""What all tests share: Hypothesis draws the same examples on every machine and every run."""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.load_profile("fixed")
