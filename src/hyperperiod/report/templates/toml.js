// SPDX-License-Identifier: BSD-2-Clause
//
// A system as a system file, of the parts that the simulator is told (simulator.js): what it reads
// to is told by the same parts. `words` are the words of files, by the numbers that parts have:
// schedulers, kinds (of tasks), orders; `ordinary` is the priority of who has none. An Error says
// what a file cannot say.
"use strict";
const tomlOf = (() => {
  const UNITS = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
  const all = (parts, part) => parts.filter((one) => one.part === part);
  const text = (string) => JSON.stringify(string);
  const lines = (head, pairs) => [...(head ? ["", head] : []), ...pairs.filter(Boolean)].join("\n");
  const pair = (key, value, unless) => value !== unless && value !== null && `${key} = ${value}`;

  // A time in the largest unit in which it is whole.
  function time(ns) {
    const [unit, length] = UNITS.find(([, each]) => ns % each === 0);
    return text(`${ns / length}${unit}`);
  }
  const timePair = (key, ns, unless = 0) => ns !== unless && ns !== null && pair(key, time(ns));
  const interfaceOf = ({ period_ns: period, budget_ns: budget }) =>
    `{ period = ${time(period)}, budget = ${time(budget)} }`;

  // Whether priorities of servers are the ranks of their periods, as they are where none is given.
  function isByPeriod(parts) {
    const served = all(parts, "add_vcpu").filter((one) => !one.best_effort);
    const timed = [...served, ...all(parts, "add_change")].filter((one) => one.period_ns);
    const periods = [...new Set(timed.map((one) => one.period_ns))].sort((a, b) => a - b);
    return timed.every((one) => one.priority === periods.indexOf(one.period_ns));
  }

  const keysOf = (server, { isGlobal, given, ordinary }) => [
    !isGlobal && pair("pcpu", server.pcpu),
    ...(server.best_effort
      ? [pair("best_effort", "true"), pair("weight", server.weight, 0)]
      : [
        given && pair("priority", server.priority, ordinary),
        pair("interface", interfaceOf(server)),
      ]),
    server.extra && pair("extra", "true"),
  ];

  function taskOf(task, scheduler, kinds) {
    const [part, whole] = task.etf;
    return lines("[[domain.task]]", [
      pair("name", text(task.name)),
      pair("kind", text(kinds[task.kind]), text("periodic")),
      timePair("period", task.period_ns),
      timePair("wcet", task.wcet_ns),
      timePair("deadline", task.deadline_ns, task.period_ns),
      timePair("offset", task.offset_ns),
      timePair("jitter", task.jitter_ns),
      pair("etf", part / whole, 1),
      scheduler.endsWith("fp") && pair("priority", task.priority),
      pair("vcpu", task.vcpu),
    ]);
  }

  function sourceOf(flow) {
    const { think_least_ns: least, think_most_ns: most } = flow;
    const isClosed = flow.part === "add_closed_flow";
    const said = isClosed ? [
      pair("kind", text("closed")),
      pair("clients", flow.clients),
      pair("think", time(least === most ? most : most / 2)),
      least === most && pair("think_draw", text("constant")),
    ] : [
      flow.kind === 1 && pair("kind", text("sporadic")),
      timePair("period", flow.period_ns),
      timePair("jitter", flow.jitter_ns),
      pair("burst", flow.burst, 1),
    ];
    return `{ ${[...said, timePair("offset", flow.offset_ns)].filter(Boolean).join(", ")} }`;
  }

  return (name, parts, policyOf, words) => {
    const [setUp] = parts;
    const { part, ...costs } = all(parts, "set_overheads")[0];
    const overheads = Object.entries(costs).map(([key, cost]) =>
      timePair(key.replace(/_ns$/, ""), cost));
    const [spare] = all(parts, "set_spare");
    const policy = (one) => {
      const found = policyOf(one).name;
      return text(found.includes("+") && setUp.is_global ? `${found}+global` : found);
    };
    const isOrdered = words.orders[setUp.order] === "fp-edf";
    const keys = {
      isGlobal: setUp.is_global, given: isOrdered || !isByPeriod(parts), ordinary: words.ordinary,
    };
    const domains = [];
    for (const one of parts) {
      if (one.part === "add_domain") domains.push({ ...one, vcpus: [], tasks: [] });
      else if (one.part === "add_vcpu") domains.at(-1).vcpus.push(one);
      else if (one.part === "add_task") domains.at(-1).tasks.push(one);
    }
    const called = domains.flatMap((one) => one.tasks.map((task) => `${one.name}.${task.name}`));
    const vcpus = domains.flatMap((one) => one.vcpus.map((_, at) =>
      (one.vcpus.length > 1 ? `${one.name}.${at}` : one.name)));
    if (parts.some((one) => one.ring)) throw new Error("a ring, which a file gives to a device");
    const isMoved = ({ period_ns: period, priority, vcpu }) =>
      period && priority !== all(parts, "add_vcpu")[vcpu].priority;
    if (keys.given && all(parts, "add_change").some(isMoved))
      throw new Error("a change to another priority, which in a file only periods make");
    return `${[
      lines("", [
        pair("name", text(name)),
        pair("policy", policy(setUp)),
        pair("pcpus", setUp.pcpus, 1),
        timePair("quantum", setUp.quantum_ns),
        pair("sbf", text(setUp.sbf), text("general")),
        Boolean(spare.budget_ns) && pair("spare", interfaceOf(spare)),
      ]),
      ...(overheads.some(Boolean) ? [lines("[overheads]", overheads)] : []),
      ...all(parts, "add_theft").map((one) => lines("[[stolen]]", [
        pair("pcpu", one.pcpu), timePair("period", one.period_ns),
        timePair("duration", one.duration_ns), timePair("offset", one.offset_ns),
      ])),
      ...domains.flatMap((one) => {
        const scheduler = words.schedulers[one.scheduler];
        const head = [pair("name", text(one.name)), pair("scheduler", text(scheduler), text("rm"))];
        const [first, ...others] = one.vcpus;
        return [
          lines("[[domain]]", others.length ? head : [...head, ...keysOf(first, keys)]),
          ...(others.length ? one.vcpus : []).map((each) =>
            lines("[[domain.vcpu]]", keysOf(each, keys))),
          ...one.tasks.map((task) => taskOf(task, scheduler, words.kinds)),
        ];
      }),
      ...parts.filter((one) => one.hops).map((one) => lines("[[flow]]", [
        pair("name", text(one.name)), pair("source", sourceOf(one)),
        pair("hops", `[${one.hops.map((task) => text(called[task])).join(", ")}]`),
        timePair("deadline", one.deadline_ns), pair("queue", one.queue ?? 1, 1),
      ])),
      ...all(parts, "add_swap").map((one) =>
        lines("[[swap]]", [pair("at", time(one.at_ns)), pair("policy", policy(one))])),
      ...all(parts, "add_change").map((one) => lines("[[change]]", [
        pair("at", time(one.at_ns)), pair("domain", text(vcpus[one.vcpu])),
        Boolean(one.period_ns) && pair("interface", interfaceOf(one)), pair("pcpu", one.pcpu),
      ])),
      ...parts.map((one, at) => one.part === "add_overrun" && lines("[[overrun]]", [
        pair("task", text(called[all(parts.slice(0, at), "add_task").length - 1])),
        pair("factor", one.thousandths / 1000), timePair("from", one.from_ns),
        timePair("to", one.to_ns, null), pair("every", one.every, 1),
      ])).filter(Boolean),
    ].join("\n")}\n`;
  };
})();
