# SPDX-License-Identifier: BSD-2-Clause
"""The trace file (`.hpt`): one header, then one 32-byte record per event, for every host.

Layout, little endian throughout:

    8 bytes   HPTRACE1
    4 bytes   length L of the header
    L bytes   the header as JSON, padded with spaces so that 12 + L is a multiple of 32
    n * 32    records: time, value, job, pcpu, vcpu, payer, task, kind, flags, reserved

Records are sorted by time; inside one instant they stand in the order in which a host acts:
charges, completions and departures, replenishments, releases and arrivals, the pick.

The last record of a whole trace, and no other, is an `end`. A run that Ctrl-C ended has one as
well, at the instant that it reached, before the header's horizon. A file without it lost its tail
(a broken copy) and is refused, so that nobody takes what is left for the run. Large files are
mapped into memory, never read whole, and validated in chunks.
"""

import contextlib
import json
import mmap
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, NamedTuple, NotRequired, TypedDict, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hyperperiod._check import AFTER_PICK as AFTER_PICK
from hyperperiod._check import EXTRA as EXTRA
from hyperperiod._check import FIELDS, Fields
from hyperperiod._check import NONE as NONE
from hyperperiod._check import RING_ENDED as RING_ENDED
from hyperperiod._check import RING_FIELDS as RING_FIELDS
from hyperperiod._check import RING_MAGIC as RING_MAGIC
from hyperperiod._check import RING_OVERFLOW as RING_OVERFLOW
from hyperperiod._check import RING_PAUSED as RING_PAUSED
from hyperperiod._check import SECOND_PAYER as SECOND_PAYER
from hyperperiod._check import SPARE as SPARE
from hyperperiod._check import STEPS as STEPS
from hyperperiod._check import STOLEN as STOLEN
from hyperperiod._check import Call as Call
from hyperperiod._check import Kind as Kind
from hyperperiod.model.errors import InputError, Problem
from hyperperiod.model.load import SYSTEM_ENDINGS
from hyperperiod.model.part import entries_of, show_path
from hyperperiod.model.policy import Budget, Order, Slack
from hyperperiod.model.units import format_time
from hyperperiod.model.values import Count, Positive, Reading

MAGIC: Final = b"HPTRACE1"
FORMAT: Final = 1
CHUNK: Final = 1 << 18
"""Records handled at once: 8 MiB, small beside any machine and large beside any loop."""

RECORD: Final = np.dtype(
    [("time_ns" if name == "time" else name, f"<u{size}") for name, size in FIELDS]
)

Records = NDArray[np.void]
Values = TypeVar("Values", int, NDArray[Any])
Progress = Callable[[int], None]


class InterfaceEntry(TypedDict):
    """Period and budget of one server; the budget of a spare may be 0."""

    period_ns: Positive
    budget_ns: Count


class VcpuEntry(TypedDict):
    """One vcpu; its place in the header's list is the id that records use."""

    name: str
    domain: str
    period_ns: Positive | None
    budget_ns: Positive | None
    priority: Count | None
    pcpu: Count | None
    best_effort: bool
    extra: bool
    weight: NotRequired[Positive | None]


class OverrunEntry(TypedDict):
    """Which jobs of a task take longer than its wcet, and how much, in thousandths."""

    thousandths: Positive
    from_ns: Count
    to_ns: Count | None
    every: Positive


class TaskEntry(TypedDict):
    """One task; its place in the header's list is the id that records use."""

    domain: str
    name: str
    kind: str
    period_ns: Positive | None
    deadline_ns: Positive | None
    wcet_ns: Positive | None
    bcet_ns: Positive | None
    offset_ns: Count
    jitter_ns: Count
    priority: Count | None
    kernel_ns: NotRequired[Count | None]
    kernel_period_ns: NotRequired[Positive]
    overrun: NotRequired[OverrunEntry]


class ChangeEntry(TypedDict):
    """An interface that a domain gets at some instant, and the priority that goes with it.

    `vcpus`: those of the domain that get it then, if others do not.
    """

    at_ns: Count
    domain: str
    interface: InterfaceEntry
    priority: NotRequired[Count]
    vcpus: NotRequired[list[Count]]


class SwapEntry(TypedDict):
    """A policy that takes over at some instant."""

    at_ns: Count
    policy: str


class FlowEntry(TypedDict):
    """A flow: which tasks its items pass, by their ids; its place in the list is its number."""

    name: str
    kind: str
    period_ns: Positive | None
    offset_ns: Count
    jitter_ns: Count
    burst: Positive
    queue: Positive
    deadline_ns: Positive
    hops: list[Count]
    ring: NotRequired[Positive]
    clients: NotRequired[Positive]
    think_least_ns: NotRequired[Count]
    think_most_ns: NotRequired[Count]


class Item(NamedTuple):
    """What the value of an item or drop record says: which item of which flow at which hop."""

    flow: int
    hop: int
    number: int


class Header(TypedDict):
    """What a reader must know to understand the records. Further keys are kept as they are."""

    format: int
    system: str
    host: str
    policy: str
    budget: Budget
    order: Order
    slack: Slack
    scope: Literal["partitioned", "global"]
    seed: Count | None
    horizon_ns: Count
    quantum_ns: Positive | None
    pcpus: Positive
    overheads: dict[str, Count]
    vcpus: list[VcpuEntry]
    spare: InterfaceEntry | None
    tasks: list[TaskEntry]
    swaps: list[SwapEntry]
    changes: list[ChangeEntry]
    flows: NotRequired[list[FlowEntry]]
    global_guests: NotRequired[dict[str, str]]
    guarantees: NotRequired[bool]
    lateness_ns: NotRequired[Count]
    resume_ns: NotRequired[Count]
    switch_ns: NotRequired[Count]
    job_overhead_ns: NotRequired[Count]
    timing: NotRequired[Literal["host"]]


_HEADER: Final = entries_of(Header)


_TRACE_ALLOWED: Final = (
    "a trace (.hpt): `hyperperiod simulate SYSTEM --trace FILE.hpt` writes one;"
    " `hyperperiod analyze` and others take systems"
)


def write_header(path: Path, header: Mapping[str, Any]) -> None:
    """Start a trace file: magic, length and header. Whoever records appends records to it."""
    checked = check_header(path, header)
    text = json.dumps(checked, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-(len(MAGIC) + 4 + len(text)) % RECORD.itemsize)
    path.write_bytes(MAGIC + len(text).to_bytes(4, "little") + text)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """OSErrors from writing the trace `path` that name no file, as of a full disk, name it."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def check_header(path: Path, header: Mapping[str, Any]) -> Header:
    """The header as given, once it is known to hold every key with the right type."""
    reading = Reading(from_file=True)
    _HEADER.read(header, (), reading)
    if reading.findings:
        raise InputError.of(
            [
                Problem(str(path), None, show_path(one.path), one.found, one.allowed)
                for one in reading.findings
            ]
        )
    if header["format"] != FORMAT:
        raise _bad(path, "format", str(header["format"]), str(FORMAT))
    checked = cast("Header", header)
    _check_servers(path, checked)
    return checked


def _check_servers(path: Path, header: Header) -> None:
    for index, vcpu in enumerate(header["vcpus"]):
        period_ns, budget_ns = vcpu["period_ns"], vcpu["budget_ns"]
        key = f"vcpus[{index}]"
        if (period_ns is None or budget_ns is None) != vcpu["best_effort"]:
            allowed = "both with a server, neither when best_effort"
            raise _bad(path, key, f"period_ns {period_ns}, budget_ns {budget_ns}", allowed)
        if period_ns is not None and budget_ns is not None and budget_ns > period_ns:
            raise _bad(path, f"{key}.budget_ns", str(budget_ns), f"at most {period_ns}, the period")
        home = vcpu["pcpu"]
        if header["scope"] == "partitioned" and (home is None or home >= header["pcpus"]):
            raise _bad(path, f"{key}.pcpu", str(home), f"below {header['pcpus']}")


def read(path: Path) -> tuple[Header, Records]:
    """Header and records of a trace file; the records are mapped, not loaded.

    Raises InputError for anything that is not a trace, with what was found and what is allowed.
    """
    with path.open("rb") as file:
        header, offset, size = _read_header(path, file)
        records = _map_records(file.fileno(), offset, size)
    checks = _RecordChecks(path, header, len(records))
    for chunk in chunks(records):
        checks.see(chunk)
    _require_whole(path, records, (size - offset) % RECORD.itemsize, len(records))
    return header, records


class Windows(NamedTuple):
    """A trace whose records come in windows of some MiB, each of which may be forgotten."""

    header: Header
    total: int
    """Records in all."""
    windows: Iterator[Records]
    """Each is checked before it comes; InputError as from `read`."""


def read_windows(path: Path, at_once: int = CHUNK) -> Windows:
    """A trace file to go through once, however large: at most `at_once` records are in memory."""
    with path.open("rb") as file:
        header, offset, size = _read_header(path, file)
    count = (size - offset) // RECORD.itemsize
    tail_bytes = (size - offset) % RECORD.itemsize
    windows = _read_records(path, header, offset, count, tail_bytes, at_once)
    return Windows(header, count, windows)


def _read_records(
    path: Path, header: Header, offset: int, count: int, tail_bytes: int, at_once: int
) -> Iterator[Records]:
    checks = _RecordChecks(path, header, count)
    last = np.empty(0, RECORD)
    with path.open("rb") as file:
        file.seek(offset)
        for first in range(0, count, at_once):
            window = np.fromfile(file, RECORD, min(at_once, count - first))
            checks.see(window)
            yield window
            last = window[-1:]
    _require_whole(path, last, tail_bytes, count)


def _read_header(path: Path, file: BinaryIO) -> tuple[Header, int, int]:
    """The header of a trace file, where its records begin, and the size of the file."""
    start = file.read(len(MAGIC) + 4)
    if start[: len(MAGIC)] != MAGIC:
        if path.suffix.lower() in SYSTEM_ENDINGS:
            raise _bad(path, "", f"a system file ({path.suffix})", _TRACE_ALLOWED)
        raise _bad(path, "magic", repr(start[: len(MAGIC)]), repr(MAGIC))
    if len(start) < len(MAGIC) + 4:
        raise _bad(path, "header length", "end of file", "4 bytes")
    length = int.from_bytes(start[len(MAGIC) :], "little")
    offset = len(start) + length
    size = path.stat().st_size
    if offset % RECORD.itemsize != 0:
        allowed = f"one that ends on a multiple of {RECORD.itemsize}"
        raise _bad(path, "header length", str(length), allowed)
    if offset > size:
        raise _cut(path, f"only {size - len(start)} of the {length} bytes of its header")
    return _parse_header(path, file.read(length)), offset, size


def chunks(records: Records, size: int = CHUNK) -> Iterator[Records]:
    """The records in pieces of at most `size`, in order.

    A piece of a file is given back to the system when the next one is asked for, so that no more
    memory is taken than a piece has; who still holds it reads the file once more.
    """
    for first in range(0, len(records), size):
        piece = records[first : first + size]
        yield piece
        _give_back(piece)


def _give_back(piece: Records) -> None:
    """Lets go of the pages of a mapped file that a piece lies on, but the one that it ends on.

    The page that it begins on it may share with the piece before, which is done.
    """
    owner: Any = piece
    while isinstance(owner, np.ndarray):
        owner = owner.base
    mapped = owner.obj if isinstance(owner, memoryview) else owner
    if not isinstance(mapped, mmap.mmap):
        return
    start = piece.ctypes.data - np.frombuffer(mapped, np.uint8, 1).ctypes.data
    first = start // mmap.PAGESIZE * mmap.PAGESIZE
    length = (start + piece.nbytes - first) // mmap.PAGESIZE * mmap.PAGESIZE
    if length > 0:
        mapped.madvise(mmap.MADV_DONTNEED, first, length)


def counted(pieces: Iterable[Records], progress: Progress) -> Iterator[Records]:
    """The pieces; `progress` is called with the number of records of those that are done."""
    done = 0
    for piece in pieces:
        yield piece
        done += len(piece)
        progress(done)


def of_kinds(records: Records, *kinds: Kind) -> Records:
    """The records of these kinds. With booleans as the index numpy takes thirty times as long."""
    found = records["kind"] == kinds[0]
    for kind in kinds[1:]:
        found |= records["kind"] == kind
    return records.compress(found)


def end_ns(records: Records) -> int:
    """When the trace ends: the time of its last record (0 for an empty one)."""
    return int(records["time_ns"][-1]) if len(records) else 0


def first_of(records: Records, time_ns: int) -> int:
    """The place of the first record that is not before the instant."""
    return _place(bisect_left, records, time_ns)


def first_after(records: Records, time_ns: int) -> int:
    """The place of the first record after the instant."""
    return _place(bisect_right, records, time_ns)


def _place(bisect: Callable[..., int], records: Records, time_ns: int) -> int:
    """Each record that is looked at brings in some pages of a mapped file, which are let go."""
    times = records["time_ns"]
    place = bisect(range(len(records)), time_ns, key=lambda at: int(times[at]))
    _give_back(records)
    return place


def is_interrupted(header: Header, records: Records) -> bool:
    """Whether Ctrl-C ended the run before its horizon; the trace is whole up to that instant."""
    return end_ns(records) < header["horizon_ns"]


def signed(value: int) -> int:
    """A value field read as two's complement (remaining budget may be a debt)."""
    return value - (1 << 64) if value >= 1 << 63 else value


def item_of(value: int) -> Item:
    """The item in the value of an item or drop record."""
    return Item(*items_of(value))


def items_of(values: Values) -> tuple[Values, Values, Values]:
    """The flows, hops and numbers of the items in the values of such records, or in one of them."""
    return values >> 48, values >> 32 & 0xFFFF, values & 0xFFFFFFFF


def server_name(header: Header, server: int) -> str:
    """The name of a payer in everything that users read."""
    if server in (SPARE, NONE):
        return "spare" if server == SPARE else "nobody"
    return header["vcpus"][server]["name"]


def has_one_spare(header: Header) -> bool:
    """Whether the run uses a spare, and only one: partitioned pcpus have one each."""
    used = header["slack"] == "spare" or len(header["swaps"]) > 0
    alone = header["scope"] == "global" or header["pcpus"] == 1
    return header["spare"] is not None and used and alone


def task_name(header: Header, task: int) -> str:
    """A task by domain and name, as in `brakes.wheel`."""
    entry = header["tasks"][task]
    return f"{entry['domain']}.{entry['name']}"


def _parse_header(path: Path, text: bytes) -> Header:
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise _bad(path, "header", f"text that is not JSON ({error})", "a JSON object") from None
    if not isinstance(parsed, dict):
        raise _bad(path, "header", type(parsed).__name__, "a JSON object")
    return check_header(path, parsed)


def _map_records(descriptor: int, offset: int, size: int) -> Records:
    count = (size - offset) // RECORD.itemsize
    if count == 0:
        return np.empty(0, RECORD)
    mapped = mmap.mmap(descriptor, offset + count * RECORD.itemsize, access=mmap.ACCESS_READ)
    return np.frombuffer(mapped, RECORD, count, offset)


_SPECIAL: Final = {"pcpu": NONE, "vcpu": SPARE, "payer": SPARE, "task": NONE}
"""The least number of a field that is no id of the header."""

_RULES: Final = (len(Budget), len(Order), len(Slack))
"""How many budget, order and slack rules there are: what a swap may ask for."""


class _RecordChecks:
    """InputErrors for what no trace has, looked for in one piece of it after the other."""

    def __init__(self, path: Path, header: Header, count: int) -> None:
        self.path = path
        self.counts = {
            "pcpu": header["pcpus"],
            "vcpu": len(header["vcpus"]),
            "payer": len(header["vcpus"]),
            "task": len(header["tasks"]),
        }
        self.count = count
        self.base = 0
        self.last_ns = 0
        pcpus, vcpus, _, tasks = self.counts.values()
        self.fields = Fields(pcpus, vcpus, tasks, _RULES)

    def see(self, chunk: Records) -> None:
        """The next records."""
        plain = np.ascontiguousarray(chunk).view(np.uint8)
        wrong = self.fields.first_wrong(plain, self.last_ns, self.count - self.base)
        if wrong is not None:
            raise self._refused(chunk, *wrong)
        self.last_ns = int(chunk["time_ns"][-1])
        self.base += len(chunk)

    def _refused(self, chunk: Records, at: int, what: str) -> InputError:
        """Why a record is refused: what is wrong is a field, or that it is an end."""
        if what == "end":
            found, allowed = "an end with records after it", "an end as the last record"
            return _bad(self.path, f"record {self.base + at}: kind", found, allowed)
        found = str(int(chunk[what][at]))
        if what == "time_ns":
            before_ns = int(chunk["time_ns"][at - 1]) if at else self.last_ns
            found, allowed = f"{found} after {before_ns}", "times that never go back"
        elif what == "kind":
            allowed = f"{min(Kind).value} to {max(Kind).value}"
        elif what == "value":
            allowed = "budget | order << 8 | slack << 16"
        elif int(found) >= _SPECIAL[what]:
            allowed = f"an id in a {Kind(int(chunk['kind'][at])).name}"
        else:
            special = " or ".join(str(word) for word in range(NONE, _SPECIAL[what] - 1, -1))
            allowed = f"below {self.counts[what]}, or {special}"
        return _bad(self.path, f"record {self.base + at}: {what}", found, allowed)


def _require_whole(path: Path, records: Records, tail_bytes: int, count: int) -> None:
    """InputError for a trace whose last bytes are missing, after `count` records.

    `records` are the last of them, `tail_bytes` half a record.
    """
    if tail_bytes == 0 and len(records) and int(records["kind"][-1]) == Kind.END:
        return
    half = f" and {tail_bytes} bytes of the next" if tail_bytes else ""
    until = f", up to {format_time(end_ns(records))}" if len(records) else ""
    raise _cut(path, f"{count} records{half}{until}, and no end")


def _cut(path: Path, found: str) -> InputError:
    return _bad(path, "", f"a trace that was cut short: {found}", "a whole trace; copy it again")


def _bad(path: Path, key: str, found: str, allowed: str) -> InputError:
    return InputError(str(path), None, key, found, allowed)
