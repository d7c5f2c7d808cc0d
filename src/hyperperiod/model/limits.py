# SPDX-License-Identifier: BSD-2-Clause
"""How much a system may have, and the kinds of whole numbers that follow.

The limits of time are in `units`, that of names in `values`.
"""

from typing import Annotated

from hyperperiod.model.values import Text, Whole

PCPU_LIMIT = 64
VCPU_LIMIT = 1024
TASK_LIMIT = 4096
PRIORITY_LIMIT = 2**31
FLOW_LIMIT = 1024
HOP_LIMIT = 256
QUEUE_LIMIT = 65536
# How deep domains may nest. Nobody builds deeper; the bound keeps every recursion shallow.
DEPTH_LIMIT = 16

Priority = Annotated[int, Whole(0, PRIORITY_LIMIT - 1)]
PcpuId = Annotated[int, Whole(0, PCPU_LIMIT - 1)]
Vcpus = Annotated[int, Whole(1, VCPU_LIMIT)]
VcpuIndex = Annotated[int, Whole(0, VCPU_LIMIT - 1)]
Pcpus = Annotated[int, Whole(1, PCPU_LIMIT)]
Weight = Annotated[int, Whole(1, 65535)]
Items = Annotated[int, Whole(1, QUEUE_LIMIT)]
Prose = Annotated[str, Text(4096)]
