# SPDX-License-Identifier: BSD-2-Clause
"""The JSON Schema of results: of what commands print with `--json`.

It is made of the classes that are printed and read, so it names every key and no other. What the
keys mean is in docs/formats.md. The copy beside this file ships with the package, and a test keeps
it up to date.
"""

from __future__ import annotations

import json

from hyperperiod.analysis.fit.fit_result import FitResult
from hyperperiod.analysis.result import AnalysisResult
from hyperperiod.experiments.latency.result import LatencyResult
from hyperperiod.experiments.reproduce.result import ReproductionResult
from hyperperiod.experiments.sweep.result import SweepResult
from hyperperiod.hosts.result import ComparisonResult, RunResult
from hyperperiod.model.result_kinds import Object
from hyperperiod.model.schema import SCHEMA_DIALECT
from hyperperiod.model.values import Definitions, JsonSchema
from hyperperiod.trace.result import TraceCheckResult, TraceDiffResult

RESULTS = (
    AnalysisResult,
    RunResult,
    ComparisonResult,
    FitResult,
    LatencyResult,
    ReproductionResult,
    SweepResult,
    TraceCheckResult,
    TraceDiffResult,
)
SCHEMA_ID = "urn:hyperperiod:results"
SHIPPED_NAME = "results.schema.json"


def results_schema() -> JsonSchema:
    """Returns the JSON Schema that any one result meets."""
    definitions: Definitions = {}
    each = [Object(one).schema(definitions) for one in RESULTS]
    head = {"$schema": SCHEMA_DIALECT, "$id": SCHEMA_ID, "title": "Hyperperiod result"}
    return {**head, "oneOf": each, "$defs": dict(sorted(definitions.items()))}


def schema_text() -> str:
    """Returns the schema as the text of the file that ships."""
    return json.dumps(results_schema(), indent=2, ensure_ascii=True) + "\n"
