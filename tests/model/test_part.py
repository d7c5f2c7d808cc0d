# SPDX-License-Identifier: BSD-2-Clause
"""Records: how they are made, what they refuse, and what is the same about two of them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterable
from typing import Annotated, Literal

import pytest

from hyperperiod.model import Domain, InputError, Interface, Scheduler, Task, TaskKind
from hyperperiod.model.part import AtLeast, Part, fields_of, key, read_part, schema_of
from hyperperiod.model.values import Definitions, Finding, Name, PositiveTime, Reading, Whole


class Wheel(Part):
    """A wheel of a cart."""

    name: Name = key("what it is called")
    turn_ns: PositiveTime = key("how long one turn takes")
    spokes: Annotated[int, Whole(3, 99)] = key("how many", default=12)
    side: Literal["left", "right"] | None = None

    def _findings(self) -> Iterable[Finding]:
        if self.name == "fifth" and self.side is not None:
            yield Finding(("side",), self.side, "nothing: it is in the middle")


class Cart(Part):
    """Wheels that go together."""

    wheels: Annotated[tuple[Wheel, ...], AtLeast(2)] = key("its wheels", name="wheel")


def refused(part: type[Part], document: object, *, from_file: bool = True) -> list[tuple[str, ...]]:
    """Where and what was found, in the order of the findings."""
    reading = Reading(from_file=from_file)
    read_part(part, document, (), reading)
    return [(".".join(map(str, one.path)), one.found) for one in reading.findings]


def test_keys_are_names_without_units() -> None:
    assert [field.key for field in fields_of(Wheel).values()] == ["name", "turn", "spokes", "side"]
    assert [field.key for field in fields_of(Cart).values()] == ["wheel"]


def test_all_that_is_wrong_is_told_at_once() -> None:
    document = {
        "wheel": [
            {"name": "a;b", "turn": 5, "spokes": 2, "side": "up", "spoke": 1},
            {"name": "fifth", "turn": "1s", "side": "left"},
            7,
        ]
    }
    assert refused(Cart, document) == [
        ("wheel.0.name", "'a;b'"),
        ("wheel.0.turn", "5"),
        ("wheel.0.spokes", "2"),
        ("wheel.0.side", "'up'"),
        ("wheel.0.spoke", "the unknown key spoke"),
        ("wheel.1.side", "left"),
        ("wheel.2", "7"),
    ]


def test_files_say_keys_and_units_python_may_say_names_and_nanoseconds() -> None:
    assert refused(Wheel, {"name": "a", "turn": "1s"}) == []
    assert refused(Wheel, {"name": "a", "turn_ns": 5}) == [
        ("turn_ns", "the unknown key turn_ns"),
    ]
    assert Wheel.of({"name": "a", "turn_ns": 10**9}) == Wheel.of({"name": "a", "turn": "1s"})
    with pytest.raises(InputError, match=r"turn_ns: found the unknown key turn_ns"):
        Wheel.of({"name": "a", "turn": "1s", "turn_ns": 10**9})


def test_a_list_has_its_least_length() -> None:
    with pytest.raises(InputError, match="wheel: found a list; allowed: at least 2 of them"):
        Cart.of({"wheel": [{"name": "a", "turn": "1s"}]})


def test_whatever_makes_a_record_checks_it() -> None:
    with pytest.raises(InputError) as caught:
        Wheel(name="", turn_ns=0, spokes=100)
    assert [problem.key for problem in caught.value.problems] == ["name", "turn_ns", "spokes"]
    with pytest.raises(InputError, match="side: found left; allowed: nothing"):
        Wheel(name="fifth", turn_ns=1, side="left")
    # Those who replace know what they do.
    assert Wheel(name="fifth", turn_ns=1).replace(side="left").side == "left"
    with pytest.raises(AssertionError, match="only fields"):
        Wheel(name="a", turn_ns=1).replace(spoke=3)


def test_records_are_values() -> None:
    one = Wheel(name="a", turn_ns=5)
    assert one == Wheel.of({"name": "a", "turn": "5ns"})
    assert hash(one) == hash(Wheel.of({"turn": "5ns", "name": "a"}))
    assert one != one.replace(spokes=13)
    assert one.replace(spokes=13).replace(spokes=12) == one
    assert one != "a"
    assert Interface(period_ns=5, budget_ns=5) != one
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.deepcopy(one) == one
    assert repr(one) == "Wheel(name='a', turn_ns=5, spokes=12, side=None)"


def test_records_are_frozen() -> None:
    one = Wheel(name="a", turn_ns=5)
    with pytest.raises(AttributeError, match="Wheel is frozen: spokes cannot be set"):
        one.spokes = 4  # type: ignore[misc]
    with pytest.raises(AttributeError, match="Wheel is frozen: spokes cannot be deleted"):
        del one.spokes
    assert one.spokes == 12


def test_what_follows_from_other_fields_is_filled_in_before_the_rules() -> None:
    assert Task(name="t", period_ns=5, wcet_ns=1).deadline_ns == 5
    hogs = Domain(name="d", best_effort=True, vcpus=2).tasks
    assert [(hog.name, hog.kind, hog.vcpu) for hog in hogs] == [
        ("hog.0", TaskKind.BUSY, 0),
        ("hog.1", TaskKind.BUSY, 1),
    ]


def test_words_become_members_of_their_enumeration() -> None:
    assert Domain.of({"name": "d", "best_effort": True, "scheduler": "edf"}).scheduler is (
        Scheduler.EDF
    )


def test_the_schema_of_a_record() -> None:
    definitions: Definitions = {}
    assert schema_of(Cart, definitions) == {
        "type": "object",
        "description": "Wheels that go together.",
        "additionalProperties": False,
        "properties": {
            "wheel": {
                "description": "its wheels",
                "type": "array",
                "items": {"$ref": "#/$defs/Wheel"},
                "minItems": 2,
            }
        },
        "required": ["wheel"],
    }
    assert definitions["Wheel"]["properties"]["spokes"] == {
        "description": "how many",
        "type": "integer",
        "minimum": 3,
        "maximum": 99,
        "default": 12,
    }
