# SPDX-License-Identifier: BSD-2-Clause
"""Sweeps: very many drawn systems over a grid, judged by the analysis, the simulator and tests.

`experiment` reads the file of a sweep and makes systems, `judge` says what becomes of them,
`tables` and `folder` keep that as Parquet, `work` does all parts that are not done, and `summary`
says what came of it. docs/sweep.md shows how to use it.
"""
