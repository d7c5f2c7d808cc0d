# SPDX-License-Identifier: BSD-2-Clause
"""The version of this package: here and nowhere else (pyproject.toml reads it from this line)."""

VERSION = "0.1.0"
