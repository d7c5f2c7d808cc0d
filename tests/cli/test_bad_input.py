# SPDX-License-Identifier: BSD-2-Clause
"""Bad systems, one mistake each: what the message says, and that nothing else happens.

In a case, the comment `# <-` marks the line that the message must name. Every case must end with
exit code 2, say file, line, key, what was found and what is allowed, print nothing on standard
output but the same as JSON where that is asked for, write no file and show no traceback.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hyperperiod.cli import main
from hyperperiod.model import Problem
from hyperperiod.model.error_result import ErrorResult

TASK = """
[[domain.task]]
name = "t"
period = "20ms"
wcet = "2ms"
"""

DOMAIN = f"""
[[domain]]
name = "a"
interface = {{ period = "10ms", budget = "3ms" }}
{TASK}"""

TOP = """
name = "s"
policy = "ptps"
"""


@dataclass(frozen=True)
class Case:
    """A file, the key that the message names, and words of the message."""

    name: str
    text: str
    key: str
    words: tuple[str, ...]


def case(name: str, text: str, key: str, *words: str) -> Case:
    return Case(name, text.lstrip("\n"), key, words)


def top(line: str) -> str:
    """A good system with one more line at the top."""
    return f"{TOP}{line}  # <-\n{DOMAIN}"


def in_domain(line: str, *, rest: str = TASK, head: str = TOP) -> str:
    """A good system whose domain has one more line."""
    return f'{head}\n[[domain]]\nname = "a"\n{line}  # <-\n{rest}'


def in_task(line: str, *, head: str = 'period = "20ms"\nwcet = "2ms"') -> str:
    """A good system whose task has one more line."""
    return (
        in_domain('interface = { period = "10ms", budget = "3ms" }', rest="").replace("  # <-", "")
        + f'\n[[domain.task]]\nname = "t"\n{head}\n{line}  # <-\n'
    )


INTERFACE = 'interface = {{ period = "{}", budget = "{}" }}'


def closed_flow(source: str, more: str = "") -> str:
    """A flow from a closed source, in which the mistake is."""
    way = 'name = "f"\nhops = ["a.t"]\ndeadline = "1ms"'
    return (
        f'{TOP}{DOMAIN}kind = "event"\n[[flow]]\n{way}\n'
        f'source = {{ kind = "closed", {source} }} # <-\n{more}\n'
    )


CASES = [
    # The file as a whole.
    case("empty", "# <-", "name", "found nothing", "required"),
    case("syntax", f"{TOP}pcpus = = 1 # <-", "", "Invalid value", "TOML"),
    case("key_twice", f'{TOP}policy = "crps" # <-', "policy", "found policy a second time", "once"),
    case(
        "table_twice",
        f"{TOP}{DOMAIN}[overheads]\n[overheads] # <-",
        "overheads",
        "found overheads a second time",
    ),
    case(
        "deep_domains",
        TOP
        + "".join(f"[[{'.'.join(['domain'] * n)}]]\nname = 'd{n}'\n" for n in range(1, 99)).replace(
            "]]\nname = 'd33'", "]] # <-\nname = 'd33'"
        ),
        "domain" + "[0].domain" * 32,
        "nested too deeply",
    ),
    case("endless_number", f"{TOP}pcpus = {'9' * 5000}\n# <-".replace("\n# <-", ""), "", "digits"),
    case("deep_lists", f"pcpus = {'[' * 5000}{']' * 5000} # <-", "", "nested"),
    # Keys.
    case("unknown_key", top('polici = "crps"'), "polici", "did you mean policy?"),
    case("unknown_far", top('zzz = "crps"'), "zzz", "the keys here are name, description"),
    case("unknown_in_domain", in_domain('shceduler = "rm"'), "domain[0].shceduler", "scheduler?"),
    case(
        "unknown_in_task", in_task('wcte = "1ms"'), "domain[0].task[0].wcte", "did you mean wcet?"
    ),
    case(
        "unknown_in_interface",
        in_domain('interface = { period = "1ms", budget = "1ms", deadline = "1ms" }'),
        "domain[0].interface.deadline",
        "period, budget",
    ),
    case("unknown_list", f"{TOP}{DOMAIN}[[overhaeds.tick]] # <-\n", "overhaeds", "overheads?"),
    case("unknown_table", f"{TOP}{DOMAIN}[overhead] # <-\n", "overhead", "did you mean overheads?"),
    case(
        "unknown_overhead", f'{TOP}{DOMAIN}[overheads]\ntick = "1us" # <-', "overheads.tick", "pick"
    ),
    case("python_name", in_task("period_ns = 5"), "domain[0].task[0].period_ns", "unknown key"),
    case("no_policy", f'name = "s" # <-\n{DOMAIN}'.replace("# <-", ""), "policy", "required"),
    case(
        "no_task_name",
        f'{TOP}[[domain]]\nname = "a"\n[[domain.task]] # <-\nperiod = "1s"\nwcet="1ms"',
        "domain[0].task[0].name",
        "found nothing",
    ),
    case(
        "no_wcet",
        f'{TOP}[[domain]]\nname = "a"\n[[domain.task]] # <-\nname="t"\nperiod = "1s"',
        "domain[0].task[0].wcet",
        "found nothing",
        "kind periodic needs wcet",
    ),
    case(
        "no_budget",
        in_domain('interface = { period = "1ms" }'),
        "domain[0].interface.budget",
        "required",
    ),
    # Types.
    case("pcpus_text", top('pcpus = "2"'), "pcpus", "'2'", "a whole number"),
    case("pcpus_float", top("pcpus = 1.0"), "pcpus", "a whole number"),
    case("pcpus_true", top("pcpus = true"), "pcpus", "found true", "a whole number"),
    case("pcpus_date", top("pcpus = 2020-01-01"), "pcpus", "2020-01-01"),
    case("name_number", f"name = 5 # <-\npolicy = 'ptps'\n{DOMAIN}", "name", "found 5"),
    case(
        "name_semicolon",
        in_domain("").replace('"a"', '"a;b" # <-').replace("\n  # <-", ""),
        "domain[0].name",
        "characters",
    ),
    case("name_empty", f"name = '' # <-\npolicy = 'ptps'\n{DOMAIN}", "name", "found ''"),
    case("name_long", f"name = '{'n' * 65}' # <-\npolicy = 'ptps'\n{DOMAIN}", "name", "64"),
    case("domain_no_list", f'{TOP}[domain] # <-\nname = "a"', "domain", "a list"),
    case("domain_text", top('domain = "a"').replace(DOMAIN, ""), "domain", "found 'a'", "a list"),
    case("interface_text", in_domain('interface = "10ms"'), "domain[0].interface", "a table"),
    case(
        "best_effort_text",
        in_domain('best_effort = "yes"'),
        "domain[0].best_effort",
        "true or false",
    ),
    case("scheduler", in_domain('scheduler = "llf"'), "domain[0].scheduler", "'llf'", "'edf'"),
    case("kind", in_task('kind = "aperiodic"'), "domain[0].task[0].kind", "'sporadic'"),
    case("sbf", top('sbf = "linear"'), "sbf", "'general', 'harmonic', 'edp' or 'servers'"),
    # Times.
    case("no_unit", in_task("jitter = 5"), "domain[0].task[0].jitter", "found 5", "a unit"),
    case("wrong_unit", in_task('jitter = "5min"'), "domain[0].task[0].jitter", "ns, us, ms, s"),
    case("capital_unit", in_task('jitter = "5MS"'), "domain[0].task[0].jitter", "'5MS'"),
    case("negative", in_task('offset = "-5ms"'), "domain[0].task[0].offset", "'-5ms'"),
    case("half_ns", in_task('offset = "0.5ns"'), "domain[0].task[0].offset", "whole number"),
    case(
        "too_large",
        in_task('offset = "4611686018427387904ns"'),
        "domain[0].task[0].offset",
        "below 2^62",
    ),
    case(
        "near_2_63",
        in_task('offset = "9223372036854775808ns"'),
        "domain[0].task[0].offset",
        "below 2^62",
    ),
    case("many_digits", in_task(f'offset = "{"9" * 100}s"'), "domain[0].task[0].offset", "..."),
    case(
        "sum_too_large",
        in_task('offset = "4611686018427387903ns"'),
        "domain[0].task[0].offset",
        "sum",
    ),
    case("arabic_digits", in_task('offset = "٣ms"'), "domain[0].task[0].offset", "a unit"),
    case(
        "zero_period",
        in_task('period = "0ms"', head='wcet = "1ms"'),
        "domain[0].task[0].period",
        "above 0",
    ),
    case(
        "zero_wcet",
        in_task('wcet = "0ms"', head='period = "1ms"'),
        "domain[0].task[0].wcet",
        "above 0",
    ),
    case("zero_deadline", in_task('deadline = "0s"'), "domain[0].task[0].deadline", "above 0"),
    case("zero_quantum", top('quantum = "0ms"'), "quantum", "above 0"),
    # Numbers.
    case("etf_zero", in_task("etf = 0"), "domain[0].task[0].etf", "above 0 and at most 1"),
    case("etf_above_1", in_task("etf = 1.5"), "domain[0].task[0].etf", "1.5"),
    case("etf_negative", in_task("etf = -0.5"), "domain[0].task[0].etf", "-0.5"),
    case("etf_text", in_task('etf = "half"'), "domain[0].task[0].etf", "a number"),
    case("etf_nan", in_task("etf = nan"), "domain[0].task[0].etf", "NaN"),
    case("etf_inf", in_task("etf = inf"), "domain[0].task[0].etf", "Infinity"),
    case("etf_tiny", in_task("etf = 1e-999999999"), "domain[0].task[0].etf", "decimals"),
    case("no_pcpu", top("pcpus = 0"), "pcpus", "at least 1"),
    case("many_pcpus", top("pcpus = 65"), "pcpus", "found 65", "at most 64"),
    case("negative_priority", in_domain("priority = -1"), "domain[0].priority", "at least 0"),
    case("no_vcpu", in_domain("vcpus = 0"), "domain[0].vcpus", "at least 1"),
    case("many_vcpus", in_domain("vcpus = 1025"), "domain[0].vcpus", "at most 1024"),
    # Rules between values.
    case(
        "budget_above_period",
        in_domain(INTERFACE.format("1ms", "2ms")),
        "domain[0].interface.budget",
        "2ms",
        "at most the period, 1ms",
    ),
    case(
        "spare_above_period",
        top('spare = { period = "1ms", budget = "2ms" }'),
        "spare.budget",
        "at most the period",
    ),
    case("no_domain", "name = 's' # <-\npolicy = 'ptps'".replace("# <-", ""), "domain", "required"),
    case("no_domains", f"{TOP}domain = [] # <-", "domain", "at least one [[domain]]"),
    case("no_tasks", f'{TOP}[[domain]] # <-\nname = "a"', "domain[0].task", "without tasks"),
    case(
        "domain_twice",
        f"{TOP}{DOMAIN}" + DOMAIN.replace('"a"', '"a" # <-'),
        "domain[1].name",
        "'a' a second time",
    ),
    case(
        "vcpu_name_twice",
        f"{TOP}{DOMAIN}".replace('"a"', '"b.0"') + DOMAIN.replace('"a"', '"b" # <-\nvcpus = 2'),
        "domain[1].name",
        "'b.0' a second time",
    ),
    case("reserved", f"{TOP}{DOMAIN}".replace('"a"', '"idle" # <-'), "domain[0].name", "'idle'"),
    case("stolen", f"{TOP}{DOMAIN}".replace('"a"', '"stolen" # <-'), "domain[0].name", "'stolen'"),
    case(
        "task_twice",
        f"{TOP}{DOMAIN}" + TASK.replace('"t"', '"t" # <-'),
        "domain[0].task[1].name",
        "'t' a second time",
    ),
    case(
        "interface_twice",
        in_domain('interface_period = "10ms"', rest=(INTERFACE.format("10ms", "3ms") + TASK)),
        "domain[0].interface_period",
        "one of the two",
    ),
    case(
        "best_effort_interface",
        in_domain(INTERFACE.format("10ms", "3ms"), rest="best_effort = true"),
        "domain[0].interface",
        "no interface",
    ),
    case(
        "best_effort_period",
        in_domain('interface_period = "10ms"', rest="best_effort = true"),
        "domain[0].interface_period",
        "no interface_period",
    ),
    case(
        "best_effort_priority",
        in_domain("priority = 1", rest="best_effort = true"),
        "domain[0].priority",
        "no priority",
    ),
    case(
        "best_effort_extra",
        in_domain("extra = true", rest="best_effort = true"),
        "domain[0].extra",
        "no extra",
    ),
    case(
        "no_demand",
        f'{TOP}[[domain]] # <-\nname = "a"\n[[domain.task]]\nname = "b"\nkind = "busy"',
        "domain[0].interface",
        "no interface of a",
        "the busy task b gives no demand",
    ),
    case(
        "busy_period",
        in_task('kind = "busy"', head='period = "1ms" # <-').replace('"busy"  # <-', '"busy"'),
        "domain[0].task[0].period",
        "a busy task",
    ),
    case(
        "busy_deadline",
        in_task('deadline = "1ms"', head='kind = "busy"'),
        "domain[0].task[0].deadline",
        "a busy task",
    ),
    case(
        "busy_jitter",
        in_task('jitter = "1ms"', head='kind = "busy"'),
        "domain[0].task[0].jitter",
        "a busy task",
    ),
    case("busy_etf", in_task("etf = 0.5", head='kind = "busy"'), "domain[0].task[0].etf", "wcet"),
    case("vcpu_out_of_range", in_task("vcpu = 1"), "domain[0].task[0].vcpu", "found 1"),
    case(
        "priority_without_fp",
        in_task("priority = 1"),
        "domain[0].task[0].priority",
        'scheduler "rm"',
    ),
    case(
        "fp_without_priority",
        in_domain('scheduler = "fp"')
        .replace("  # <-", "")
        .replace("[[domain.task]]", "[[domain.task]] # <-"),
        "domain[0].task[0].priority",
        "needs it",
    ),
    # Policies and placement.
    case(
        "policy_unknown", f'name = "s"\npolicy = "rtos" # <-\n{DOMAIN}', "policy", "'rtos'", "ptps"
    ),
    case("policy_number", f'name = "s"\npolicy = 5 # <-\n{DOMAIN}', "policy", "found 5", "ptps"),
    case(
        "policy_true",
        f'name = "s"\npolicy = true # <-\n{DOMAIN}',
        "policy",
        "found true",
        "periodic+edf+reclaim",
        "or a table of rules",
    ),
    case(
        "policy_nearly",
        f'name = "s"\npolicy = "rtsd" # <-\n{DOMAIN}',
        "policy",
        "allowed: ptps, wcps",
        "; did you mean rtds?",
    ),
    case(
        "policy_illegal",
        f'name = "s"\npolicy = "deferrable+fp+lend" # <-\n{DOMAIN}',
        "policy",
        "deferrable+fp+lend",
        "none, spare, extra",
    ),
    case(
        "policy_illegal_table",
        'name = "s"\npolicy = { budget = "periodic", order = "edf", slack = "spare" } # <-\n'
        + DOMAIN,
        "policy",
        "periodic+edf+spare",
        "none, lend, reclaim",
    ),
    case(
        "policy_global_polling",
        'name = "s"\npolicy = { budget = "polling", order = "edf", scope = "global" } # <-\n'
        + DOMAIN,
        "policy",
        "with scope global",
        "cbs, deferrable, periodic",
    ),
    case(
        "policy_global_lend",
        f'name = "s"\npolicy = "periodic+fp+lend+global" # <-\n{DOMAIN}',
        "policy",
        "periodic+fp+lend+global",
        "none",
    ),
    case(
        "policy_no_order",
        f'name = "s"\npolicy = {{ budget = "periodic" }} # <-\n{DOMAIN}',
        "policy.order",
        "required",
    ),
    case(
        "policy_word",
        f'name = "s"\npolicy = {{ budget = "token", order = "fp" }} # <-\n{DOMAIN}',
        "policy.budget",
        "'token'",
        "'periodic'",
    ),
    case(
        "hsf_on_two",
        f'name = "s"\npolicy = "hsf-fp" # <-\npcpus = 2\n{DOMAIN}'.replace(
            'name = "a"', 'name = "a"\npcpu = 0'
        ),
        "policy",
        "hsf-fp on 2 pcpus",
        "partitioned-hsf-fp",
    ),
    case(
        "no_pin",
        f"{TOP}pcpus = 2\n" + DOMAIN.replace("[[domain]]", "[[domain]] # <-"),
        "domain[0].pcpu",
        "0 to 1",
    ),
    case("pin_out_of_range", in_domain("pcpu = 1"), "domain[0].pcpu", "found 1", "0 (there is 1"),
    case("pin_beyond_64", in_domain("pcpu = 64"), "domain[0].pcpu", "at most 63"),
    case(
        "pin_global",
        in_domain("pcpu = 1", head='name = "s"\npolicy = "rtds"\npcpus = 2\n'),
        "domain[0].pcpu",
        "no pcpu",
        "rtds",
    ),
    case(
        "some_priorities",
        f"{TOP}"
        + DOMAIN.replace("[[domain]]", "[[domain]]\npriority = 1")
        + DOMAIN.replace('"a"', '"b"').replace("[[domain]]", "[[domain]] # <-"),
        "domain[1].priority",
        "for none",
    ),
    case(
        "too_many_on_a_core",
        f"{TOP}domain = [ # <-\n"
        + "".join(f'{{ name = "d{i}", vcpus = 600, best_effort = true }},\n' for i in range(2))
        + "]",
        "domain",
        "1200 vcpus on pcpu 0",
        "at most 1024",
    ),
    # The quantum.
    case(
        "quantum_budget",
        in_domain(INTERFACE.format("10ms", "2.5ms"), head=TOP + 'quantum = "1ms"\n'),
        "domain[0].interface.budget",
        "2.5ms",
        "quantum, 1ms",
    ),
    case(
        "quantum_period",
        in_domain('interface_period = "1500us"', head=TOP + 'quantum = "1ms"\n'),
        "domain[0].interface_period",
        "1.5ms",
        "multiple of the quantum",
    ),
    case(
        "quantum_spare",
        top('quantum = "3ms"\nspare = { period = "9ms", budget = "2ms" }').replace("10ms", "12ms"),
        "spare.budget",
        "2ms",
        "quantum, 3ms",
    ),
    # Swaps, changes, flows.
    case(
        "swap_scope",
        f'{TOP}{DOMAIN}[[swap]]\nat = "1s"\npolicy = "rtds" # <-',
        "swap[0].policy",
        "rtds, which is global",
        "partitioned",
    ),
    case(
        "swap_order",
        f'{TOP}{DOMAIN}[[swap]]\nat = "2s"\npolicy = "crps"\n[[swap]]\nat = "1s" # <-\n'
        'policy = "wcps"',
        "swap[1].at",
        "in order of time",
    ),
    case(
        "swap_policy",
        f'{TOP}{DOMAIN}[[swap]]\nat = "2s"\npolicy = "x" # <-',
        "swap[0].policy",
        "'x'",
    ),
    case("swap_no_time", f'{TOP}{DOMAIN}[[swap]] # <-\npolicy = "crps"', "swap[0].at", "required"),
    case(
        "change_domain",
        f'{TOP}{DOMAIN}[[change]]\nat = "2s"\ndomain = "b" # <-\n' + INTERFACE.format("1ms", "1ms"),
        "change[0].domain",
        "'b'",
        "a domain with a server: a",
    ),
    case(
        "change_budget",
        f'{TOP}{DOMAIN}[[change]]\nat = "2s"\ndomain = "a"\n'
        + INTERFACE.format("1ms", "2ms")
        + " # <-",
        "change[0].interface.budget",
        "at most",
    ),
    case(
        "flow_hop",
        f'{TOP}{DOMAIN}[[flow]]\nname = "f"\ndeadline = "1ms"\n'
        'hops = ["a.x"] # <-\nsource = { period = "1ms" }',
        "flow[0].hops[0]",
        "'a.x'",
    ),
    case(
        "flow_hop_jitter",
        TOP + DOMAIN + 'kind = "event"\njitter = "1ms"\n[[flow]]\nname = "f"\ndeadline = "1ms"\n'
        'hops = ["a.t"] # <-\nsource = { period = "1ms" }',
        "flow[0].hops[0]",
        "offset or jitter",
    ),
    case(
        "flow_burst",
        f'{TOP}{DOMAIN}kind = "event"\n[[flow]]\nname = "f"\ndeadline = "1ms"\n'
        'hops = ["a.t"]\nsource = { period = "1ms", burst = 0 } # <-',
        "flow[0].source.burst",
        "1",
    ),
    case(
        "flow_hop_kind",
        f'{TOP}{DOMAIN}[[flow]]\nname = "f"\ndeadline = "1ms"\n'
        'hops = ["a.t"] # <-\nsource = { period = "1ms" }',
        "flow[0].hops[0]",
        "kind periodic",
        'kind "event"',
    ),
    case(
        "flow_no_hops",
        f'{TOP}{DOMAIN}[[flow]]\nname = "f"\ndeadline = "1ms"\n'
        'hops = [] # <-\nsource = { period = "1ms" }',
        "flow[0].hops",
        "at least one",
    ),
    case(
        "flow_clients",
        closed_flow('think = "1ms"'),
        "flow[0].source.clients",
        "nothing",
        "needs clients",
    ),
    case(
        "flow_no_clients",
        closed_flow('clients = 0, think = "1ms"'),
        "flow[0].source.clients",
        "found 0",
        "at least 1",
    ),
    case(
        "flow_think",
        closed_flow("clients = 2"),
        "flow[0].source.think",
        "nothing",
        "needs think",
    ),
    case(
        "flow_think_draw",
        closed_flow('clients = 2, think = "1ms", think_draw = "exponential"'),
        "flow[0].source.think_draw",
        "'exponential'",
        "'uniform' or 'constant'",
    ),
    case(
        "flow_closed_period",
        closed_flow('clients = 2, think = "1ms", period = "1ms"'),
        "flow[0].source.period",
        "period of a closed source",
        "think_draw and offset",
    ),
    case(
        "flow_closed_burst",
        closed_flow('clients = 2, think = "1ms", burst = 2'),
        "flow[0].source.burst",
        "burst of a closed source",
    ),
    case(
        "flow_closed_jitter",
        closed_flow('clients = 2, think = "1ms", jitter = "2us"'),
        "flow[0].source.jitter",
        "jitter of a closed source",
    ),
    case(
        "flow_closed_queue",
        closed_flow('clients = 5, think = "1ms"', "queue = 4 # <-").replace("} # <-", "}"),
        "flow[0].queue",
        "4 for 5 clients",
        "at least 5",
    ),
    case(
        "flow_closed_far",
        closed_flow('clients = 5, think = "2305843009213693000ns"').replace("} # <-", "}"),
        "flow[0].deadline",
        "offset + 2 * think + deadline above 2^62 ns",
    ),
    case(
        "flow_periodic_clients",
        closed_flow('clients = 2, period = "1ms"').replace("closed", "periodic"),
        "flow[0].source.clients",
        "clients of a periodic source",
        'only with kind = "closed"',
    ),
    case(
        "flow_sporadic_think",
        closed_flow('think_draw = "uniform", period = "1ms"').replace("closed", "sporadic"),
        "flow[0].source.think_draw",
        "think_draw of a sporadic source",
    ),
    case(
        "flow_no_period",
        closed_flow('offset = "1ms"').replace("closed", "periodic"),
        "flow[0].source.period",
        "kind periodic needs period",
    ),
    # Domains of domains.
    case(
        "nested_pin",
        f'{TOP}[[domain]]\nname = "o"\n[[domain.domain]]\nname = "i"\npcpu = 0 # <-\n'
        + TASK.replace("domain.task", "domain.domain.task"),
        "domain[0].domain[0].pcpu",
        "outermost",
    ),
    case(
        "nested_and_tasks",
        f'{TOP}[[domain]]\nname = "o"\n[[domain.domain]]\nname = "i"\n'
        + TASK.replace("domain.task", "domain.domain.task")
        + TASK.replace("[[domain.task]]", "[[domain.task]] # <-"),
        "domain[0].task",
        "1 tasks beside",
    ),
    case(
        "nested_name",
        f'{TOP}[[domain]]\nname = "o"\n[[domain.domain]]\nname = "o" # <-\n'
        + TASK.replace("domain.task", "domain.domain.task"),
        "domain[0].domain[0].name",
        "second",
    ),
]


def line_of(text: str) -> int | None:
    """The line that `# <-` marks."""
    for number, line in enumerate(text.splitlines(), start=1):
        if "# <-" in line:
            return number
    return None


def check_refused(result: Result, folder: Path, given: set[str], *, as_json: bool = False) -> None:
    """Exit code 2, a message, nothing else but with --json an object that says the same."""
    assert result.exit_code == 2, result.output
    if as_json:
        said = ErrorResult.of(json.loads(result.stdout)).error
        assert said.exit_code == 2
        assert said.message == result.stderr.replace("error: ", "").rstrip("\n")
        problems = [Problem(**one.to_dict()) for one in said.problems]
        assert "".join(f"error: {one}\n" for one in problems) == result.stderr
    else:
        assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert {path.name for path in folder.iterdir()} == given


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.name)
def test_a_mistake_is_named(one: Case, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(one.text, encoding="utf-8")
    written = [str(tmp_path / "run.hpt"), str(tmp_path / "run.html")]
    result = CliRunner().invoke(
        main, ["simulate", str(file), "--trace", written[0], "--report", written[1], "--json"]
    )
    check_refused(result, tmp_path, {"bad.toml"}, as_json=True)
    line = line_of(one.text)
    place = re.escape(f"{file}:{line}: " if line else f"{file}:")
    where = r"(\d+: )?" if line is None else ""
    key = re.escape(f"{one.key}: ") if one.key else ""
    named = [
        text
        for text in result.stderr.splitlines()
        if re.match(rf"error: {place}{where}{key}found .+; allowed: .+", text)
    ]
    assert named, f"no line for {place}{key} in:\n{result.stderr}"
    for word in one.words:
        assert any(word in text for text in named), (word, named)


def test_there_are_enough_cases() -> None:
    names = [one.name for one in CASES]
    assert len(names) == len(set(names))
    assert len(names) >= 40


@pytest.mark.parametrize(
    "command", [["analyze"], ["compare"], ["run", "--on", "sim"], ["simulate"]]
)
def test_every_command_refuses_alike(command: list[str], tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(f'{TOP}pcpus = "two"\n{DOMAIN}')
    result = CliRunner().invoke(main, [*command, str(file)])
    check_refused(result, tmp_path, {"bad.toml"})
    assert f"{file}:4: pcpus: found 'two'; allowed: a whole number" in result.stderr


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        (f'{TOP}\n[[domain]]\nname = "a"\n\n[[domian.task]]\nname = "t"\n', 8, "domian"),
        (f'{TOP}\n[[domian]]\nname = "a"\n', 5, "domian"),
        (in_task("", head='period = "20ms"\nwcte = "2ms"'), 12, "domain[0].task[0].wcte"),
    ],
)
def test_a_slip_of_the_pen_is_one_mistake(text: str, line: int, key: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    result = CliRunner().invoke(main, ["analyze", str(file)])
    check_refused(result, tmp_path, {"bad.toml"})
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith(f"error: {file}:{line}: {key}: found the unknown key")


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(in_task('jitter = "5min"').replace("pcpus", "") + "\nvcpu = -1\nwat = 5\n")
    result = CliRunner().invoke(main, ["analyze", str(file)])
    check_refused(result, tmp_path, {"bad.toml"})
    errors = result.stderr.splitlines()
    assert [text.split(": ")[2].rpartition(".")[2] for text in errors] == ["jitter", "vcpu", "wat"]
    assert all(text.startswith(f"error: {file}:") for text in errors)
