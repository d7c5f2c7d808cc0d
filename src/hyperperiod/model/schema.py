# SPDX-License-Identifier: BSD-2-Clause
"""The JSON Schema of system files, made from the same classes that read them.

It says what single values may be; rules between values (a budget within its period) are only
checked by the reader. Editors use it for completion: `hyperperiod schema` prints it.
"""

from __future__ import annotations

from hyperperiod.model.part import schema_of
from hyperperiod.model.system import System
from hyperperiod.model.values import Definitions, JsonSchema

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_ID = "urn:hyperperiod:system"
"""A name that no server has to answer for; editors are told where the file is."""


def system_schema() -> JsonSchema:
    """The JSON Schema of a system file."""
    definitions: Definitions = {}
    system = schema_of(System, definitions)
    head = {"$schema": SCHEMA_DIALECT, "$id": SCHEMA_ID, "title": "Hyperperiod system"}
    return {**head, **system, "$defs": dict(sorted(definitions.items()))}
