# SPDX-License-Identifier: BSD-2-Clause
"""The JSON Schema says what the reader says, as far as a schema can."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hyperperiod.model import InputError, load_system
from hyperperiod.model.schema import system_schema
from hyperperiod.model.values import NAME_PATTERN, Label, Reading

SYSTEMS = sorted((Path(__file__).parents[2] / "systems").glob("*.toml"))

GOOD = {
    "name": "s",
    "policy": "ptps",
    "domain": [{"name": "a", "task": [{"name": "t", "period": "20ms", "wcet": "2ms"}]}],
}


def validator() -> Any:
    return jsonschema.Draft202012Validator(system_schema())


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(system_schema())


@pytest.mark.parametrize("file", SYSTEMS, ids=lambda file: file.stem)
def test_the_example_systems_are_valid(file: Path) -> None:
    validator().validate(tomllib.loads(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "change",
    [
        {"zzz": 1},
        {"name": 5},
        {"name": "a;b"},
        {"policy": "rtos"},
        {"policy": {"budget": "periodic"}},
        {"policy": {"budget": "periodic", "order": "fp", "slack": "some"}},
        {"pcpus": 0},
        {"pcpus": 65},
        {"quantum": 1},
        {"quantum": "1 min"},
        {"sbf": "linear"},
        {"spare": {"period": "1ms"}},
        {"overheads": {"tick": "1us"}},
        {"domain": [{"name": "a", "vcpus": 0}]},
        {"domain": [{"name": "a", "interface": {"period": "1ms", "budget": "1"}}]},
        {"domain": [{"name": "a", "task": [{"name": "t", "etf": 0}]}]},
        {"domain": [{"name": "a", "task": [{"name": "t", "kind": "aperiodic"}]}]},
        {"swap": [{"at": "1s"}]},
    ],
    ids=str,
)
def test_schema_and_reader_refuse_alike(change: dict[str, Any], tmp_path: Path) -> None:
    validator().validate(GOOD)
    document = {**GOOD, **change}
    assert not validator().is_valid(document)
    file = tmp_path / "bad.toml"
    file.write_text("\n".join(f"{key} = {toml(value)}" for key, value in document.items()))
    with pytest.raises(InputError):
        load_system(file)


def test_the_schema_says_what_every_key_means() -> None:
    schema = system_schema()
    assert schema["$id"]
    tables = {"System": schema, **schema["$defs"]}
    assert set(tables) >= {"System", "Domain", "Task", "Flow", "Source", "Policy", "Interface"}
    for name, table in tables.items():
        for key, said in table["properties"].items():
            assert len(said.get("description", "")) > 8, f"{name}.{key}"
            assert "](" not in said["description"], f"{name}.{key}: a link that leads nowhere"


def test_what_holds_without_a_key_is_said() -> None:
    domain = system_schema()["$defs"]["Domain"]["properties"]
    assert domain["interface_period_range"]["description"].endswith("; default: none")
    assert domain["pcpu"]["description"].endswith("; default: 0 if there is one")
    assert domain["scheduler"]["default"] == "rm"


def test_names_are_read_as_the_pattern_says() -> None:
    """The reader goes by sets of characters: with every one of them, wherever it stands."""
    pattern = re.compile(NAME_PATTERN)
    for code in range(0x3100):
        for text in (chr(code), f"a{chr(code)}", f"{chr(code)}a", f"a{chr(code)}a"):
            reading = Reading(from_file=True)
            Label().read(text, (), reading)
            assert (not reading.findings) == bool(pattern.fullmatch(text)), ascii(text)


def toml(value: Any) -> str:
    """A value as inline TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml(inner) for inner in value) + "]"
    return json.dumps(value)
