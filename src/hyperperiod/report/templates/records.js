// SPDX-License-Identifier: BSD-2-Clause
//
// The records of a run that began at 0, and what the timeline draws of them and of its system: what
// report/timeline.py makes of a whole trace, in a page that runs the simulator itself. `Kind` and
// `Flag` are the rows of record/record.h, which the page puts before this.
"use strict";

// Who there is in a system, of the parts that the simulator is told: domains, their vcpus and
// tasks, servers whose budgets are drawn (`withSpare`: the spare too), and what is seen at first,
// two periods of the slowest, or 20 ms where there are none. `colors` are those of the domains.
function dataOf(parts, colors, withSpare) {
  const data = { runs: [""], domains: [], vcpus: [], tasks: [], servers: [], overview: null };
  for (const one of parts) {
    const domain = data.domains.length - 1;
    const { name } = data.domains[domain] ?? {};
    if (one.part === "add_domain") {
      const [color, pattern] = [(domain + 1) % colors.length, (domain + 1) / colors.length];
      data.domains.push({ name: one.name, color: colors[color], pattern: Math.floor(pattern) });
    } else if (one.part === "add_vcpu") {
      data.vcpus.push({ name, domain, bestEffort: Boolean(one.best_effort) });
    } else if (one.part === "add_task") {
      data.tasks.push({ name: one.name, domain, deadline: one.deadline_ns ?? 0 });
    }
  }
  for (const domain of data.domains.keys()) {
    const its = data.vcpus.filter((one) => one.domain === domain);
    if (its.length > 1) its.forEach((one, at) => { one.name += `.${at}`; });
  }
  const all = (part) => parts.filter((one) => one.part === part);
  const server = ({ budget_ns: budget, period_ns: period }, vcpu, name) =>
    ({ vcpu, run: 0, name, budget, period });
  data.servers = all("add_vcpu").flatMap((one, vcpu) =>
    one.best_effort ? [] : [server(one, vcpu, data.vcpus[vcpu].name)]);
  const [spare] = all("set_spare");
  if (withSpare && spare.budget_ns) data.servers.push(server(spare, -2, "spare"));
  const flows = parts.filter(({ part }) => ["add_flow", "add_closed_flow"].includes(part));
  data.flows = flows.map(({ name }) => name);
  const periods = (part) => Math.max(0, ...all(part).map((one) => one.period_ns ?? 0));
  const pcpus = Array.from({ length: parts[0].pcpus }, () => []);
  data.windows = [{ view: [0, 2 * (periods("add_vcpu") || periods("add_task") || 1e7)], pcpus }];
  return data;
}

// From bytes to objects; -1 is nobody, -2 the spare. Values are signed, so that -1 is no end.
function recordsOf(bytes) {
  const SIZE = 32;
  const idOf = (number) => (number < 0xfffe ? number : number - 0x10000);
  const view = new DataView(bytes.buffer);
  return Array.from({ length: bytes.length / SIZE }, (_, record) => {
    const at = record * SIZE;
    return {
      time: Number(view.getBigUint64(at, true)),
      value: Number(view.getBigInt64(at + 8, true)),
      job: view.getUint32(at + 16, true),
      pcpu: idOf(view.getUint16(at + 20, true)),
      vcpu: idOf(view.getUint16(at + 22, true)),
      payer: idOf(view.getUint16(at + 24, true)),
      task: idOf(view.getUint16(at + 26, true)),
      kind: view.getUint8(at + 28),
      flags: view.getUint8(at + 29),
    };
  });
}

const windowOf = (() => {
  // start, end, vcpu, payer, flags, task, job, until of each span of each pcpu.
  function spansOf(records, pcpus, end) {
    const shown = Flag.SECOND_PAYER | Flag.EXTRA | Flag.STOLEN;
    return Array.from({ length: pcpus }, (_, pcpu) => {
      const own = records.filter((one) =>
        one.pcpu === pcpu && (one.kind === Kind.RUN || one.kind === Kind.IDLE));
      return own.flatMap((one, at) => {
        const until = at + 1 < own.length ? own[at + 1].time : end;
        if (until === one.time) return [];
        const run = one.kind === Kind.IDLE ? -1 : one.vcpu;
        return [one.time, until, run, one.payer, one.flags & shown, one.task, one.job, one.value];
      });
    });
  }

  // What each server has left: points (time, remaining), straight lines between; its level alone
  // if nothing happens to it. Charges are recorded when they end.
  function pointsOf(records, servers, end) {
    const lines = new Map(servers.map((one) => [one.vcpu, []]));
    const decided = new Map(); // by pcpu: who pays, since when without a charge
    const fall = (payer, time, spent) => {
      const line = lines.get(payer);
      if (!line || !line.length || !spent) return;
      const start = Math.max(time - spent, line.at(-2));
      line.push(start, line.at(-1), time, line.at(-1) - spent);
    };
    for (const one of records) {
      if (one.kind === Kind.RUN || one.kind === Kind.IDLE) {
        const before = decided.get(one.pcpu);
        const same = before
          && ["kind", "vcpu", "payer", "flags"].every((key) => before[key] === one[key]);
        decided.set(one.pcpu, { ...one, since: same ? before.since : one.time });
      } else if (one.kind === Kind.CHARGE) {
        if (!(one.flags & Flag.EXTRA)) fall(one.payer, one.time, one.value);
        if (decided.has(one.pcpu)) decided.get(one.pcpu).since = one.time;
      } else if (one.kind === Kind.REPLENISH && lines.has(one.vcpu)) {
        const line = lines.get(one.vcpu);
        if (line.length) line.push(one.time, line.at(-1));
        line.push(one.time, one.value);
      }
    }
    const last = [...decided.values()].sort((a, b) => a.pcpu - b.pcpu);
    for (const { kind, vcpu, payer, flags, since } of last) {
      const second = kind === Kind.RUN && flags & Flag.SECOND_PAYER ? vcpu : -1;
      if (!(flags & Flag.EXTRA))
        for (const one of new Set([payer, second])) fall(one, end, end - since);
    }
    return servers.map(({ vcpu, budget }) => {
      const line = lines.get(vcpu);
      if (line.length <= 2) return [line.length ? line[1] : budget];
      return [...line, end, line.at(-1)];
    });
  }

  // release, deadline, finish, job, missed of each job of each task.
  function jobsOf(records, tasks) {
    const found = Array.from({ length: tasks }, () => new Map());
    for (const one of records) {
      const job = one.task >= 0 ? found[one.task].get(one.job) : null;
      if (one.kind === Kind.RELEASE)
        found[one.task].set(one.job, [one.time, one.value, -1, one.job, 0]);
      else if (job && one.kind === Kind.COMPLETE) job[2] = one.time;
      else if (job && one.kind === Kind.MISS) job[4] = 1;
    }
    return found.map((jobs) => [...jobs.values()].flat());
  }

  // flow, number, hop, task, job of each item at each of its hops.
  function itemsOf(records) {
    const [HOP, FLOW] = [2 ** 32, 2 ** 48];
    return records.filter((one) => one.kind === Kind.ITEM).flatMap(({ value, task, job }) =>
      [Math.floor(value / FLOW), value % HOP, Math.floor((value % FLOW) / HOP), task, job]);
  }

  // One window over all of the records; `data` names pcpus, servers and tasks, `policyOf` the
  // rules of a swap.
  return (records, data, policyOf) => {
    const end = records.at(-1).time;
    const swaps = records.filter((one) => one.kind === Kind.SWAP && one.pcpu <= 0);
    return {
      title: "start",
      start: 0,
      end,
      records: records.length,
      pcpus: spansOf(records, data.windows[0].pcpus.length, end),
      points: pointsOf(records, data.servers, end),
      jobs: jobsOf(records, data.tasks.length),
      waiting: data.tasks.map(() => 0),
      items: itemsOf(records),
      swaps: swaps.map((one) => [one.time, policyOf(one.value)]),
      moments: [],
    };
  };
})();
