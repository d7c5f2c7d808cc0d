# SPDX-License-Identifier: BSD-2-Clause
"""Hyperperiod: virtual machines whose real-time tasks meet their deadlines.

The package computes each domain's CPU interface, predicts what will happen under it, runs it
on a host, measures it, and puts prediction and measurement side by side.
"""

from importlib.metadata import version

__version__ = version("hyperperiod")
