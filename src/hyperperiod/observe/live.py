# SPDX-License-Identifier: BSD-2-Clause
"""Records what the scheduler of this machine does, in an instance of ftrace of our own.

An instance has events, buffers and a clock of its own, so nobody else's tracing is disturbed. It is
removed whatever happens. What its buffers do not hold is overwritten, and the text says how much.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hyperperiod.model.errors import MissingError
from hyperperiod.whole_file import error_text

TRACING: Final = Path("/sys/kernel/tracing")
MIB_PER_CPU: Final = 16
"""The size of the buffer of each cpu: half a minute of a busy one."""
_EVENTS = (
    *("sched/sched_switch", "sched/sched_waking", "sched/sched_wakeup", "sched/sched_wakeup_new"),
    *("sched/sched_process_exit", "irq/irq_handler_entry", "irq/irq_handler_exit"),
    *("irq/softirq_entry", "irq/softirq_exit"),
)


@contextlib.contextmanager
def recorded(span_ns: int) -> Iterator[str]:
    """Records for so long, and gives the name of the text; MissingError where that cannot be."""
    if os.geteuid() != 0:
        raise MissingError("only root may record what the scheduler does: use sudo")
    if not (TRACING / "instances").is_dir():
        raise MissingError(f"there is no tracefs at {TRACING}", f"mount -t tracefs nodev {TRACING}")
    instance = TRACING / "instances" / f"hyperperiod-{os.getpid()}"
    try:
        instance.mkdir()
        try:
            _record(instance, span_ns)
            yield str(instance / "trace")
        finally:
            instance.rmdir()
    except OSError as error:
        raise MissingError(f"ftrace: {error.filename}: {error_text(error)}") from None


def _record(instance: Path, span_ns: int) -> None:
    settings = {
        "tracing_on": "0",
        "trace_clock": "mono",  # that of timers
        "buffer_size_kb": str(MIB_PER_CPU << 10),
        "options/record-tgid": "1",
        **{f"events/{event}/enable": "1" for event in _EVENTS},
    }
    for name, value in settings.items():
        (instance / name).write_text(value)
    (instance / "tracing_on").write_text("1")
    time.sleep(span_ns / 1e9)
    (instance / "tracing_on").write_text("0")
