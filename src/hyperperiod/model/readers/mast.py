# SPDX-License-Identifier: BSD-2-Clause
"""Reads models of MAST 1: text files of processors, scheduling servers, operations, transactions.

    Processing_Resource (Type => Fixed_Priority_Processor, Name => cpu);
    Scheduling_Server (Type => Fixed_Priority, Name => s, Server_Processing_Resource => cpu,
       Server_Sched_Parameters => (Type => Fixed_Priority_Policy, The_Priority => 5));
    Operation (Type => Simple, Name => o, Worst_Case_Execution_Time => 2);
    Transaction (Type => Regular, Name => t, External_Events => ((Type => Periodic, ...

A transaction of one activity becomes a task, and the transactions of a processor a domain on a pcpu
of its own, whose server is computed. The larger priority is first. Words may be in any case, and
are in lower case here. MAST's times have no unit; here one is 1 ms. All else (shared resources,
networks, drivers, transactions of several activities, servers and policies of other kinds,
overheads) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hyperperiod.model.errors import InputError
from hyperperiod.model.readers.xml_tasks import KeyPath, TaskForm, XmlTasks, values_of
from hyperperiod.model.readers.xml_tree import Element
from hyperperiod.model.values import TomlTable

_DEEPEST = 20
_TOKEN = re.compile(r"(?:\s|--[^\n]*+)*+(=>|[(),;]|\"[^\"\n]*\"|[^\s(),;=\"]+|\Z)")
_FORM = "KEY => VALUE, KEY => (...), ..."
_IGNORED = re.compile(
    r"model_\w+|(max|min)(_interrupt)?_priority|preassigned|worst_isr_switch|(avg|best)_\w+"
)
_ZERO = ("worst_context_switch", "worst_overhead")
_TASK = TaskForm(
    times={key: key for key in ("period", "wcet", "deadline", "jitter", "offset")},
    read=("name", "priority"),
    ignored=_IGNORED,
    zero=(),
)
_KNOWN = {
    "processing_resource": "type name speed_factor system_timer",
    "system_timer": "type",
    "scheduler": "type name host policy",
    "policy": "type",
    "scheduling_server": "type name server_processing_resource scheduler server_sched_parameters",
    "server_sched_parameters": "type the_priority deadline",
    "operation": "type name worst_case_execution_time",
    "transaction": "type name external_events internal_events event_handlers",
    "external_events": "type name period max_jitter phase min_interarrival",
    "internal_events": "type name timing_requirements",
    "timing_requirements": "type deadline referenced_event",
    "event_handlers": "type input_event output_event activity_operation activity_server",
}
"""The words that lists have, beside those that are passed over."""
_TOP = (
    "model", "processing_resource", "scheduler", "scheduling_server", "operation", "transaction",
)  # fmt: skip


def read_mast(file: str, text: str) -> tuple[TomlTable, Callable[[KeyPath], int]]:
    """The document that a TOML file of the same system would give, and its lines."""
    return _MastReader(file, _TASK).read(list(_Parser(file, text).entries()))


class _Parser:
    """Reads entries as elements: words and numbers are attributes, members of lists inside."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.at, self.line = 0, 1

    def entries(self) -> Iterator[Element]:
        """Yields all entries of the file."""
        while tag := self._token():
            self._expect(self._token(), tag, "(")
            yield self._group(tag, 1)
            self._expect(self._token(), tag, ";")

    def _token(self) -> str:
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            raise self._refuse("", self.text[self.at : self.at + 20], _FORM)
        self.line += self.text.count("\n", self.at, found.end())
        self.at = found.end()
        return found[1].lower()

    def _group(self, tag: str, depth: int) -> Element:
        """Returns what stands in parentheses, behind the first of them."""
        if depth > _DEEPEST:
            raise self._refuse(tag, "(", f"{_DEEPEST} levels")
        element, mark = Element(tag, {}, self.line), ","
        while mark == "," and (key := self._token()) != ")":
            if key == "(":
                element.inside.append(self._group(tag, depth + 1))
            else:
                self._read_value(element, key, depth)
            mark = self._token()
            self._expect(mark, tag, ",", ")")
        return element

    def _read_value(self, element: Element, key: str, depth: int) -> None:
        if not re.fullmatch(r"\w+", key) or key in element.attributes:
            raise self._refuse(element.tag, key, f"{_FORM}, each key once")
        self._expect(self._token(), f"{element.tag} {key}", "=>")
        value = self._token()
        if value == "(":
            found = self._group(key, depth + 1)
            is_list = not found.attributes and all(one.tag == key for one in found.inside)
            element.inside += found.inside if is_list else [found]
        elif re.fullmatch(r"[^(),;=]+", value):
            element.attributes[key] = value.strip('"')
        else:
            raise self._refuse(key, value, _FORM)

    def _expect(self, found: str, key: str, *allowed: str) -> None:
        if found not in allowed:
            raise self._refuse(key, found, " or ".join(allowed))

    def _refuse(self, key: str, found: str, allowed: str) -> InputError:
        return InputError(self.file, self.line, key[:60], repr(found[:40]), allowed)


class _MastReader(XmlTasks):
    """Turns transactions into tasks."""

    def read(self, entries: list[Element]) -> tuple[TomlTable, Callable[[KeyPath], int]]:
        self.named: dict[tuple[str, str], Element] = {}
        for one in entries:
            if one.tag not in _TOP:
                raise self.refuse(one, "", "what has no counterpart", ", ".join(_TOP))
            for inside in one.every():
                known = _KNOWN.get(inside.tag, "").split()
                self.require_known(inside, TaskForm({}, known, _IGNORED, _ZERO))
            self.named[one.tag, values_of(one).get("name", "")] = one
        processors = [one for one in entries if one.tag == "processing_resource"]
        tasks: dict[str, list[Element]] = {values_of(one).get("name", ""): [] for one in processors}
        kinds: dict[str, str] = {}
        for one in entries:
            if one.tag == "transaction":
                processor, kind, task = self._transaction(one)
                if processor not in tasks or kinds.setdefault(processor, kind) != kind:
                    found = f"{kind} on {processor}"
                    raise self.refuse(one, "", found, "a processor, with one policy for all")
                tasks[processor].append(task)
        for number, one in enumerate(processors):
            name = values_of(one).get("name", "")
            self._choice(one, "type", "fixed_priority_processor", "regular_processor")
            if self.number(one, "speed_factor", one.attributes.get("speed_factor", "1")) != 1:
                raise self.refuse(one, "speed_factor", one.attributes["speed_factor"][:40], "1")
            if tasks[name]:
                self.add_domain(name, one, kinds[name], tasks[name], pcpu=number)
        return self.document("MAST", policy="ptps", pcpus=max(1, len(processors)))

    def _transaction(self, one: Element) -> tuple[str, str, Element]:
        """Returns the processor of a transaction, the scheduler there, and it as a task."""
        self._choice(one, "type", "regular")
        event, output, handler = (
            self._only(one, key) for key in ("external_events", "internal_events", "event_handlers")
        )
        self._choice(handler, "type", "activity")
        self._choice(output, "type", "regular")
        for key, of in (("input_event", event), ("output_event", output)):
            self._choice(handler, key, values_of(of).get("name", ""))
        operation = self._referred(handler, "activity_operation", "operation")
        self._choice(operation, "type", "simple")
        server = self._referred(handler, "activity_server", "scheduling_server")
        self._choice(server, "type", "fixed_priority", "regular")
        deadline = self._only(output, "timing_requirements")
        self._choice(deadline, "type", "hard_global_deadline", "hard_local_deadline")
        if values_of(deadline).get("type") == "hard_global_deadline":
            self._choice(deadline, "referenced_event", values_of(event).get("name", ""))
        parameters = self._only(server, "server_sched_parameters")
        policy = self._choice(parameters, "type", "fixed_priority_policy", "edf_policy")
        said, asked = values_of(event), values_of(deadline)
        is_periodic = self._choice(event, "type", "periodic", "sporadic") == "periodic"
        found = {
            "name": values_of(one).get("name"),
            "period": said.get("period" if is_periodic else "min_interarrival"),
            "jitter": said.get("max_jitter"),
            "offset": said.get("phase"),
            "deadline": asked.get("deadline"),
            "wcet": values_of(operation).get("worst_case_execution_time"),
            "priority": values_of(parameters).get("the_priority"),
        }
        if policy == "edf_policy":
            own = values_of(parameters).get("deadline")
            both = [self.number(parameters, "deadline", text) for text in (own, found["deadline"])]
            if both[0] != both[1]:
                raise self.refuse(parameters, "deadline", str(own)[:40], "that of its transaction")
        task = Element("transaction", {key: it for key, it in found.items() if it}, one.line)
        task.attributes["kind"] = "periodic" if is_periodic else "sporadic"
        processor = self._processor(server)
        return processor, "edf" if policy == "edf_policy" else "fp", task

    def _processor(self, server: Element) -> str:
        said = values_of(server)
        if "scheduler" not in said:
            return said.get("server_processing_resource", "")
        scheduler = self._referred(server, "scheduler", "scheduler")
        self._choice(scheduler, "type", "primary_scheduler")
        policy = self._only(scheduler, "policy")
        self._choice(policy, "type", "fixed_priority", "edf")
        return values_of(scheduler).get("host", "")

    def _task(self, element: Element, names: set[str]) -> TomlTable:
        kind = element.attributes.pop("kind")
        return {**super()._task(element, names), "kind": kind}

    def _choice(self, of: Element, key: str, *allowed: str) -> str:
        found = values_of(of).get(key, "")
        if found not in allowed:
            raise self.refuse(of, key, repr(found[:40]), " or ".join(allowed))
        return found

    def _referred(self, of: Element, key: str, kind: str) -> Element:
        name = values_of(of).get(key, "")
        if (kind, name) not in self.named:
            raise self.refuse(of, key, repr(name[:40]), f"the name of a {kind}")
        return self.named[kind, name]

    def _only(self, of: Element, key: str) -> Element:
        found = list(of.all(key))
        if len(found) != 1:
            raise self.refuse(of, key, f"{len(found)} of them", "one")
        return found[0]
