// SPDX-License-Identifier: BSD-2-Clause
//
// Supply and demand of one vcpu, as functions of the length of a window: the least supply that the
// analysis knows for a server that gets its budget (analysis/domains/supply_bound.py), the demand
// of the tasks (analysis/tasks), and the least supply that a run has shown. What a system is, its
// parts say (simulator.js). Times are whole nanoseconds, exact as Numbers up to 104 days; where the
// analysis needs more than a server and its tasks, nothing is known here, and the reason is said.
"use strict";

// Of a system's parts those of these kinds that follow one of them at once.
function following(parts, one, kinds) {
  const rest = parts.slice(parts.indexOf(one) + 1);
  const end = rest.findIndex(({ part }) => !kinds.includes(part));
  return end < 0 ? rest : rest.slice(0, end);
}

// The vcpus and tasks of a domain, with what belongs to them.
const partsOfDomain = (parts, domain) =>
  following(parts, domain, ["add_vcpu", "add_task", "add_overrun"]);

// The least common multiple.
function leastMultiple(one, other) {
  let [greatest, rest] = [one, other];
  while (rest) [greatest, rest] = [rest, greatest % rest];
  return (one / greatest) * other;
}

const supplyOf = (() => {
  const PERIODIC = 0; // a kind of task
  const BUSY = 2; // one that has no deadline
  const STEPS = 10000; // so many deadlines are looked at
  const whole = (amount, unit) => (amount - (amount % unit)) / unit; // rounded down

  const sumOf = (list, part) => list.reduce((sum, one) => sum + part(one), 0);

  // The least supply after the longest time without any: after it, each period has the budget.
  const sbf = (dark, period, budget) => (window) => {
    const rest = Math.max(0, window - dark);
    return whole(rest, period) * budget + Math.min(rest % period, budget);
  };

  // The most work that is released and due within a window, and that is released in it.
  const dbf = (loads) => (window) => loads.reduce((sum, one) => window < one.deadline_ns ? sum
    : sum + (whole(window - one.deadline_ns + one.jitter_ns, one.period_ns) + 1) * one.wcet_ns, 0);
  const rbf = (loads) => (window) => window <= 0 ? 0 : loads.reduce((sum, one) =>
    sum + (whole(window + one.jitter_ns - 1, one.period_ns) + 1) * one.wcet_ns, 0);

  // The tasks that have deadlines, highest priority first, without what is below endless work.
  function loadsOf(tasks, scheduler) {
    const isBusy = (one) => one.kind === BUSY;
    if (scheduler === "fifo") return tasks.filter((one) => !isBusy(one));
    const key = { dm: "deadline_ns", fp: "priority" }[scheduler] ?? "period_ns";
    const place = (one) => (key !== "priority" && isBusy(one) ? Infinity : one[key]);
    const ranked = [...tasks].sort((one, other) => {
      const [own, its] = [place(one), place(other)];
      return own === its ? 0 : own < its ? -1 : 1;
    });
    const first = ranked.findIndex(isBusy);
    return ranked.slice(0, first < 0 ? ranked.length : first);
  }

  // The first window, which ends at a deadline, in which demand under EDF is above supply; Infinity
  // if there is none, null if it is not known. With less demand than bandwidth in the long run none
  // is longer than where the lines that are above demand and below supply meet; with no more none
  // is after a hyperperiod, for then all is as one before.
  function firstLack(loads, { dark, supply, period, budget }) {
    const demand = dbf(loads);
    const [rate, bandwidth] = [sumOf(loads, (one) => one.wcet_ns / one.period_ns), budget / period];
    const early = sumOf(loads, ({ period_ns: own, deadline_ns, jitter_ns, wcet_ns }) =>
      (Math.max(0, own - deadline_ns + jitter_ns) * wcet_ns) / own);
    const meet = rate < bandwidth ? (early + bandwidth * dark) / (bandwidth - rate) : Infinity;
    const cycle = loads.reduce((all, one) => leastMultiple(all, one.period_ns), period);
    const start = Math.max(dark, ...loads.map((one) => one.deadline_ns));
    const more = (curve) => curve(start + cycle) - curve(start);
    const last = Math.min(meet, more(demand) <= more(supply) ? start + cycle : Infinity);
    const after = (window) => Math.min(...loads.map((one) => {
      const first = one.deadline_ns - one.jitter_ns;
      return window < one.deadline_ns ? one.deadline_ns
        : first + (whole(window - first, one.period_ns) + 1) * one.period_ns;
    }));
    for (let [window, step] = [after(0), 0]; step < STEPS; window = after(window), step += 1) {
      if (demand(window) > supply(window)) return window;
      if (window > last) return Infinity;
    }
    return null;
  }

  // A curve for EDF; for fixed priorities one per task, with all above it. None for other orders.
  function demandOf(loads, scheduler) {
    const until = Math.max(...loads.map((one) => one.deadline_ns));
    if (scheduler === "edf" && loads.length) return [{ name: "", until, at: dbf(loads) }];
    return ["rm", "dm", "fp"].includes(scheduler) ? loads.map(({ name, deadline_ns }, at) =>
      ({ name, until: deadline_ns, at: rbf(loads.slice(0, at + 1)) })) : [];
  }

  // Whether the windows that count begin with periods of the server: harmonic_supply.py.
  function isHarmonic(loads, period) {
    const periods = [period, ...loads.map((one) => one.period_ns)].sort((a, b) => a - b);
    return periods.every((one, at) => at === 0 || one % periods[at - 1] === 0)
      && loads.every((one) => one.kind === PERIODIC && !one.offset_ns && !one.jitter_ns
        && one.deadline_ns <= one.period_ns);
  }

  // The server of the vcpu with this number: { dark, supply, demand, step, lack }, or { why } there
  // is none. `dark` is the longest time without supply; with a step the supply is that of windows
  // that begin at its multiples; `lack` is the `firstLack`, up to which demand under EDF is drawn.
  // `policy` has the shapes of supply that are proved of the policy of the run, and under which
  // priority a server is an ordinary one, if any is.
  return (parts, id, policy, schedulers) => {
    const all = (part) => parts.filter((one) => one.part === part);
    const server = all("add_vcpu")[id];
    const { period_ns: period, budget_ns: budget } = server;
    const domain = all("add_domain").find((one) => partsOfDomain(parts, one).includes(server));
    const [vcpus, tasks] = ["add_vcpu", "add_task"].map((part) =>
      partsOfDomain(parts, domain).filter((one) => one.part === part));
    const scheduler = schedulers[domain.scheduler];
    const numbered = all("add_task");
    const hops = new Set(parts.flatMap((one) => one.hops ?? []).map((task) => numbered[task]));
    const shape = server.priority === policy.ordinary ? policy.ordinarySupply : policy.supply;
    const { part, ...costs } = all("set_overheads")[0];
    const local = scheduler.replace(/^g/, "");
    const isOwn = (one) => one.vcpu === null || one.vcpu === vcpus.indexOf(server);
    const loads = loadsOf(tasks.filter(isOwn), local);
    const inStep = parts[0].sbf === "harmonic";
    const isPinned = !scheduler.startsWith("g") && tasks.every((one) => one.vcpu !== null);
    const refusal = [
      [server.best_effort, "best effort: it has no server"],
      [!shape, "no bound is known under this policy"],
      [Object.values(costs).some(Boolean), "no bound is known here with overheads"],
      [all("add_theft").length, "no bound is known here with stolen time"],
      [parts.some((one) => "at_ns" in one), "no bound is known with a swap or change"],
      [all("add_overrun").length, "no bound is known of jobs that overrun"],
      [vcpus.length > 1 && !isPinned, "no bound is known here of jobs that move between vcpus"],
      [tasks.some((one) => hops.has(one)), "no bound is known here of tasks that items release"],
      [inStep && !(policy.harmonic && isHarmonic(loads, period)), "no harmonic bound is known"],
      [budget < 1 || budget > period, "no server: its budget is not within its period"],
    ].find(([applies]) => applies);
    if (refusal) return { why: refusal[1] };
    const late = shape === "general" ? period - budget : period; // with the budget before
    const dark = inStep ? period - budget : period - budget + late;
    const supply = sbf(dark, period, budget);
    const demand = demandOf(loads, local);
    let lack = Infinity;
    if (local === "edf" && loads.length) {
      lack = firstLack(loads, { dark, supply, period, budget });
      if (lack && lack < Infinity) demand[0].until = Math.max(demand[0].until, lack);
    }
    return { dark, supply, demand, step: inStep ? period : 0, lack };
  };
})();

// The least that a vcpu ran in any window of the run in which it had work throughout, or with a
// step in those that begin at its multiples: a function of the window's length, null where no such
// window is as long.
function seenSupply(records, id, step = 0) {
  const busy = []; // { from, to, ran }, the last with what ran in it: from, to, what ran before
  const ran = [];
  const on = new Map(); // by pcpu: since when the vcpu runs there
  const end = records.at(-1)?.time ?? 0;
  let since = null;
  const close = (to) => {
    if (since !== null) busy.push({ from: since, to, ran: [] });
    since = null;
  };
  for (const { kind, vcpu, pcpu, time } of records) {
    if (kind === Kind.RUN || kind === Kind.IDLE) {
      if (on.has(pcpu)) ran.push([on.get(pcpu), time]);
      on.delete(pcpu);
      if (kind === Kind.RUN && vcpu === id) on.set(pcpu, time);
    } else if (vcpu === id && (kind === Kind.ARRIVE || kind === Kind.DEPART)) {
      close(time);
      if (kind === Kind.ARRIVE) since = time;
    }
  }
  close(end);
  for (const start of on.values()) ran.push([start, end]);
  let next = 0;
  for (const one of busy) {
    let sum = 0;
    for (; next < ran.length && ran[next][0] < one.to; next += 1) {
      const [from, to] = ran[next];
      one.ran.push([from, to, sum]);
      sum += to - from;
    }
  }
  const before = (pieces, time) => {
    let [low, high] = [0, pieces.length]; // the first that begins later
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pieces[middle][0] > time) high = middle;
      else low = middle + 1;
    }
    if (!low) return 0;
    const [from, to, sum] = pieces[low - 1];
    return sum + Math.min(time, to) - from;
  };
  return (length) => {
    let least = null;
    for (const { from, to, ran: pieces } of busy) {
      const look = (at) => {
        if (at < from || at + length > to) return;
        const found = before(pieces, at + length) - before(pieces, at);
        if (least === null || found < least) least = found;
      };
      // A least window can be moved, and stay so, until it begins or ends with the work, or ends
      // where something starts; with a step it is next to where one end starts or stops.
      const near = (at) => {
        look(Math.floor(at / step) * step);
        look(Math.floor(at / step) * step + step);
      };
      const ends = [from, to - length, ...pieces.map(([start]) => start - length)];
      if (step) ends.push(...pieces.flatMap(([start, stop]) => [start, stop, stop - length]));
      ends.forEach(step ? near : look);
    }
    return least;
  };
}
