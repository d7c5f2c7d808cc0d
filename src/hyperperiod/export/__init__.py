# SPDX-License-Identifier: BSD-2-Clause
"""Configuration for hosts that users run themselves: a system as files in a folder.

`xen-dom0less` is a system that Xen boots from the device tree, without a toolstack; `xen-xl` one
for Xen with a dom0 that runs Linux. What was left open in the system is computed first; what a
target cannot express is refused before anything is written.
"""

from hyperperiod.export.dom0less import Board, export_dom0less
from hyperperiod.export.folder import write_folder
from hyperperiod.export.xl import export_xl

__all__ = ["Board", "export_dom0less", "export_xl", "write_folder"]
