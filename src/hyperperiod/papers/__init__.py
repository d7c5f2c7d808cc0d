# SPDX-License-Identifier: BSD-2-Clause
"""The papers' figures, measured again: each by its name, ours beside theirs."""

from typing import Final

NAMES: Final = (
    "csa-fig4",
    "csa-fig5",
    "csa-fig6",
    "csa-fig7",
    "csa-algorithm1",
    "csa-hot-swap",
    "csa-table1",
    "csa-table2",
    "ertds-fig6",
    "ertds-fig7",
    "ertds-fig8",
    "ertds-fig9",
    "psedf-fig5",
    "psedf-fig6",
    "psedf-fig7",
    "psedf-worst",
    "rt-xen-fig1",
    "rt-xen-fig3",
    "rt-xen-fig5",
    "rt-xen-fig7",
    "exsched-fig7",
    "exsched-fig8",
    "exsched-table1",
    "exsched-table3",
)
"""The figures that can be measured, each described by its file in `experiments/`."""
