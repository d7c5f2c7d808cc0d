# SPDX-License-Identifier: BSD-2-Clause
"""Builds what runs on Xen need: `hyperperiod xen build`.

`targets` has a name for everything that can be built. `hypervisor` builds Xen from the source
that `source` fetches, with the series of `patches` applied; `programs` builds the guests' executive
and dom0's tool, `toolstack` xl, `linux_guest` a Linux domain. All of them write into the folder of
their `BuildJob` and nowhere else.
"""
