# SPDX-License-Identifier: BSD-2-Clause
"""Scheduling policies: three small rules, a scope, and the names of the known rows.

A policy says how budget is spent and returns (budget), who is first among the eligible
(order), what becomes of time whose owner does not need it (slack), and whether each pcpu has
its own servers or all pcpus share them (scope). Not every combination has a meaning; everything
else is refused by name.

Rules, what is legal and the known names are rows of the core (`core/rules.h`, `core/policy.h`),
which the native module `_rules` hands over: a rule that has a row there is known here. The numbers
of the enum members (`code`) are those of the core and of trace files.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from hyperperiod import _rules
from hyperperiod.model.errors import InputError
from hyperperiod.model.part import Part, PartKind, key, read_part
from hyperperiod.model.values import Definitions, Finding, JsonSchema, Kind, Path, Reading, show


class RuleWord(StrEnum):
    """A closed choice, written as its value in files and counted from 0 in the core."""

    @property
    def code(self) -> int:
        return list(type(self)).index(self)


class BudgetRule(RuleWord):
    """A budget rule, with what its row in the core's table says of it."""

    def _has(self, trait: int) -> bool:
        return bool(_rules.BUDGETS[self.code][1] & trait)

    @property
    def keeps(self) -> bool:
        """Whether a server without work loses nothing by that (but it may pay for the time)."""
        return self._has(_rules.KEEPS)

    @property
    def pays_idle(self) -> bool:
        """Whether a server pays when it is its turn, with work or without."""
        return self._has(_rules.PAYS_IDLE)

    @property
    def max_budgets(self) -> int:
        """The most that a server can hold, in budgets."""
        return _rules.BUDGETS[self.code][2]


if TYPE_CHECKING:
    # The rules that the package names; those of the core are there whether it does or not.
    class Budget(BudgetRule):
        PERIODIC = "periodic"
        DEFERRABLE = "deferrable"
        POLLING = "polling"
        SPORADIC = "sporadic"
        CBS = "cbs"
        SLICE = "slice"
        SLICE_ONCE = "slice-once"

    class Order(RuleWord):
        FP = "fp"
        EDF = "edf"
        FP_EDF = "fp-edf"
        """Servers with a priority first, by it; then the ordinary ones, by deadline."""

    class Slack(RuleWord):
        NONE = "none"
        LEND = "lend"
        RECLAIM = "reclaim"
        SPARE = "spare"
        EXTRA = "extra"
        WEIGHTS = "weights"

else:

    def _members(names: Iterable[str]) -> dict[str, str]:
        return {name.replace("-", "_").upper(): name for name in names}

    Budget = BudgetRule("Budget", _members(row[0] for row in _rules.BUDGETS), module=__name__)
    Order = RuleWord("Order", _members(_rules.ORDERS), module=__name__)
    Slack = RuleWord("Slack", _members(_rules.SLACKS), module=__name__)


class Scope(RuleWord):
    PARTITIONED = "partitioned"
    GLOBAL = "global"


def _slacks(numbers: Iterable[int]) -> tuple[Slack, ...]:
    return tuple(list(Slack)[number] for number in numbers)


# Which slack rules go with a budget rule in a scope.
LEGAL_SLACK: dict[tuple[Scope, Budget], tuple[Slack, ...]] = {
    (scope, Budget(name)): _slacks(slacks)
    for scope in Scope
    for name, _traits, _holds, _orders, one, several in _rules.BUDGETS
    if (slacks := several if scope is Scope.GLOBAL else one)
}
_LEGAL_ORDERS: dict[Budget, tuple[Order, ...]] = {
    Budget(name): tuple(list(Order)[number] for number in orders)
    for name, _traits, _holds, orders, _one, _several in _rules.BUDGETS
}


def illegal_because(budget: Budget, order: Order, slack: Slack, scope: Scope) -> str | None:
    """Returns what is allowed instead of this combination; None when it is legal."""
    legal = LEGAL_SLACK.get((scope, budget))
    if legal is None:
        budgets = sorted({b.value for s, b in LEGAL_SLACK if s is scope})
        return f"with scope {scope} the budget rules {', '.join(budgets)}"
    if slack not in legal:
        return f"with {scope} {budget} the slack rules {', '.join(s.value for s in legal)}"
    if order not in _LEGAL_ORDERS[budget]:
        return f"with {budget} the order rules {', '.join(_LEGAL_ORDERS[budget])}"
    return None


def legal_policies() -> "list[Policy]":
    """Every legal combination of rules, without its name."""
    return [
        Policy(budget=budget, order=order, slack=slack, scope=scope)
        for (scope, budget), slacks in LEGAL_SLACK.items()
        for slack in slacks
        for order in Order
        if illegal_because(budget, order, slack, scope) is None
    ]


class Policy(Part):
    """One legal combination of rules; `name` is set when it was asked for by a known name."""

    name: str | None = key("of a known policy", default=None, name="")
    budget: Budget = key("how a server's budget is spent and comes back")
    order: Order = key("who is first among the servers that may run")
    slack: Slack = key("what becomes of time that its owner does not need", default=Slack.NONE)
    scope: Scope = key(
        "whether each pcpu has its own servers or all share them", default=Scope.PARTITIONED
    )

    def _findings(self) -> Iterable[Finding]:
        allowed = illegal_because(self.budget, self.order, self.slack, self.scope)
        return () if allowed is None else (Finding((), f"the combination {self.rules}", allowed),)

    @property
    def rules(self) -> str:
        """The rules spelled out: "periodic+edf+reclaim", with "+global" where it is global."""
        text = f"{self.budget}+{self.order}+{self.slack}"
        return f"{text}+global" if self.scope is Scope.GLOBAL else text

    def __str__(self) -> str:
        return self.name or self.rules


# The known names, as the core has them.
PRESETS: dict[str, Policy] = {
    name: Policy(
        name=name,
        budget=list(Budget)[budget],
        order=list(Order)[order],
        slack=list(Slack)[slack],
        scope=Scope.GLOBAL if scope == "global" else Scope.PARTITIONED,
    )
    for name, scope, budget, order, slack in _rules.POLICIES
}

TABLE = PRESETS["ptps"].replace(name="table", slack=Slack.NONE)
"""The policy of partitions that run in their windows and nowhere else (`pcpus`): each has what
is in them as a periodic server has its budget, and nobody decides anything."""

POLICIES = {**PRESETS, str(TABLE): TABLE}
"""All policies that have a name."""

# The one known name that is bound to a number of pcpus.
ONE_PCPU_ONLY = "hsf-fp"

POLICY_ALLOWED = (
    f"{', '.join(POLICIES)}, or rules joined by + such as periodic+edf+reclaim"
    " (budget+order, then slack, then global)"
)


def parse_policy(text: str, *, key: str = "policy") -> Policy:
    """The policy of a known name or of rules joined by "+"; InputError names `key`."""
    preset = POLICIES.get(text)
    if preset is not None:
        return preset
    words = text.split("+")
    fields = _read_words(words) if 2 <= len(words) <= 4 else None
    if fields is None:
        raise InputError("", None, key, show(text), POLICY_ALLOWED + _nearest(words))
    allowed = illegal_because(**fields)
    if allowed is not None:
        raise InputError("", None, key, f"the combination {text}", allowed)
    return Policy(**fields)


def _nearest(words: list[str]) -> str:
    """The policy that was perhaps meant, as `did_you_mean` asks; empty if none is near."""
    from difflib import get_close_matches

    known = [rule.value for rules in (Budget, Order, Slack, Scope) for rule in rules]
    if len(words) == 1:
        known = list(POLICIES)
    near = [get_close_matches(word.strip().lower(), known, n=1) for word in words]
    meant = [one for found in near for one in found]
    if len(meant) < len(words) or not (meant[0] in POLICIES or _read_words(meant)):
        return ""
    return f"; did you mean {'+'.join(meant)}?"


def _read_words(words: list[str]) -> dict[str, Any] | None:
    """budget+order[+slack][+scope] as fields, or None if a word is not one of ours."""
    fields: dict[str, Any] = {"slack": Slack.NONE, "scope": Scope.PARTITIONED}
    kinds: list[tuple[str, type[RuleWord]]] = [
        ("budget", Budget),
        ("order", Order),
        ("slack", Slack),
        ("scope", Scope),
    ]
    for word in words:
        while kinds and word not in {rule.value for rule in kinds[0][1]}:
            if kinds.pop(0)[0] in ("budget", "order"):
                return None
        if not kinds:
            return None
        name, kind = kinds.pop(0)
        fields[name] = kind(word)
    return fields if "order" in fields else None


class _PolicyKind(Kind):
    """A policy as files give it: a name, rules joined by "+", or a table of rules."""

    def read(self, value: Any, path: Path, reading: Reading) -> Any:
        if isinstance(value, (dict, Policy)):
            return read_part(Policy, value, path, reading)
        if not isinstance(value, str):
            return reading.refuse(path, show(value), f"{POLICY_ALLOWED}, or a table of rules")
        try:
            return parse_policy(value)
        except InputError as error:
            return reading.refuse(path, error.found, error.allowed)

    def schema(self, definitions: Definitions) -> JsonSchema:
        budget, order, slack, scope = (
            "|".join(rule.value for rule in rules) for rules in (Budget, Order, Slack, Scope)
        )
        rules = rf"^({budget})\+({order})(\+({slack}))?(\+({scope}))?$"
        return {
            "anyOf": [
                {"type": "string", "enum": list(POLICIES)},
                {"type": "string", "pattern": rules},
                PartKind(Policy).schema(definitions),
            ]
        }


PolicyChoice = Annotated[Policy, _PolicyKind()]
