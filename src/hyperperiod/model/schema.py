# SPDX-License-Identifier: BSD-2-Clause
"""The JSON Schema of system files, made from the same classes that read them.

It says what single values may be; rules between values (a budget within its period) are only
checked by the reader. Editors use it for completion: the copy beside this file ships with the
package, and a test keeps it up to date.
"""

from __future__ import annotations

import json
from typing import Any

from hyperperiod.model.system import System

SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
SHIPPED_NAME = "system.schema.json"


def system_schema() -> dict[str, Any]:
    """The schema of a system file."""
    schema = System.model_json_schema(by_alias=True, mode="validation")
    tidied: dict[str, Any] = _tidy(schema)
    return {"$schema": SCHEMA_DIALECT, "title": "Hyperperiod system", **tidied}


def schema_text() -> str:
    """The schema as the file that ships."""
    return json.dumps(system_schema(), indent=2, ensure_ascii=True) + "\n"


def _tidy(node: Any) -> Any:
    """Without what pydantic adds for Python: nulls, which TOML has not, and made-up titles."""
    if isinstance(node, list):
        return [_tidy(member) for member in node if member != {"type": "null"}]
    if not isinstance(node, dict):
        return node
    kept = {
        key: _tidy(value)
        for key, value in node.items()
        if not (key == "title" and isinstance(value, str))
        and not (key == "default" and value is None)
    }
    # What is left of "this or null" is this.
    if len(kept.get("anyOf", ())) == 1:
        kept = {**kept.pop("anyOf")[0], **kept}
    return kept
