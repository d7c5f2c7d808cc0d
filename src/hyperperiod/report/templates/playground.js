// SPDX-License-Identifier: BSD-2-Clause
//
// The playground: a form of a system, which runs in this page whenever something is changed. The
// page holds examples (docs/playground.py), each as the parts that the simulator is told, with
// names. The form changes the parts, and nothing else is kept: the address holds them, so that it
// is a link to any system, which need not be one of these.
"use strict";
(() => {
  const given = JSON.parse(document.getElementById("data").textContent);
  const { examples, policies, schedulers, budgets, orders, slacks, columns, colors, names } = given;
  const packed = atob(document.getElementById("simulator").textContent);
  const module = new WebAssembly.Module(Uint8Array.from(packed, (one) => one.charCodeAt(0)));
  const form = document.getElementById("system");
  const said = document.getElementById("said");
  const choice = document.getElementById("example");
  const SPARE = -2;
  const RECORD = 32; // bytes
  const MOST = 100000; // records; more are too many to draw
  const FEW = 8000; // records of a run that follows a slider
  const VIEWS = 10; // how many first views a run is long, if it may be
  const FIRST = (examples.find((one) => one.name === "flight-control") ?? examples[0]).name;
  let system = null; // a copy of the example that is changed, and the data of its timeline
  let shown = []; // what brings each control to what it controls
  let ran = null; // the system of the last run, as it was then, with its data and its records
  let now = 0; // the instant that is told
  let keepTimer = 0;

  const all = (part, { parts } = system) => parts.filter((one) => one.part === part);
  const setUp = ({ parts } = system) => parts[0];
  const ruleOf = ({ budget, order, slack }) => budget | (order << 8) | (slack << 16);
  const ownPolicies = () => policies[setUp().is_global ? "global" : "partitioned"];
  const policyOf = (rules) => ownPolicies().find((one) => ruleOf(one) === rules);

  // --- the form --------------------------------------------------------------------------------

  function element(kind, properties = {}, ...children) {
    const made = Object.assign(document.createElement(kind), properties);
    made.append(...children);
    return made;
  }

  // A labelled control for a value of a part; `show` is called whenever anything has changed.
  function row(label, input, take, show, output = element("output")) {
    shown.push(() => { output.textContent = show(input) ?? ""; });
    input.addEventListener("input", () => changed(take));
    return element("label", {}, element("span", { textContent: label }), input, output);
  }

  // Times are taken in round steps (those of servers in quanta, where there is one), but stay as
  // they are until they are moved. Beside the slider any time can be typed, in microseconds: what
  // is wrong with it, the core says.
  function slider(label, part, key, most, follow = () => {}) {
    const quantum = part.part !== "add_task" && setUp().quantum_ns;
    const input = element("input", { type: "range", step: quantum || "any", min: 0 });
    const exact = element("input", { type: "number", step: "any", min: 0 });
    exact.addEventListener("change", () => changed(() => {
      part[key] = typed(exact, 1000, "a time above 0, up to 104 days");
      follow();
      if (part.at_ns >= setUp().horizon_ns) chooseHorizon();
    }));
    input.dataset.of = `${part.part} ${all(part.part).indexOf(part)} ${key}`;
    return row(`${label} (µs)`, input, () => {
      const round = 10 ** Math.max(0, Math.floor(Math.log10(input.max / 100)));
      const step = quantum || round;
      part[key] = Math.min(input.max, Math.max(step, Math.round(input.value / step) * step));
      follow();
    }, () => {
      input.max = Math.min(most(), Number.MAX_SAFE_INTEGER);
      input.value = part[key];
      input.ariaValueText = showTimeline.timeText(part[key]);
      exact.value = part[key] / 1000;
    }, exact);
  }

  // Returns what was typed in so many of the parts' units. An Error says what else was found.
  function typed({ value, min, max, ariaLabel }, scale, allowed) {
    const whole = Math.round(value * scale);
    const most = max || Number.MAX_SAFE_INTEGER;
    if (value === "" || whole < min || whole > most
      || (scale > 1 ? whole === 0 : whole !== Number(value)))
      throw new Error(`${ariaLabel}: found ${value || "no number"}; allowed: ${allowed}`);
    return whole;
  }

  function number(label, part, key, min = 0, max = "") {
    const input = element("input", { type: "number", min, max });
    const allowed = max ? `${min} to ${max}` : `a whole number from ${min}`;
    return row(label, input, () => { part[key] = typed(input, 1, allowed); },
      () => { input.value = part[key]; });
  }

  const priorityRow = (part) => number("priority", part, "priority", 0, given.mostPriority);

  function policy(label, part) {
    const options = ownPolicies().map((one) => new Option(one.name, ruleOf(one)));
    const select = element("select", {}, ...options);
    return row(label, select, () => {
      const { budget, order, slack } = policyOf(Number(select.value));
      Object.assign(part, { budget, order, slack });
    }, () => { select.value = ruleOf(part); });
  }

  function nameRow(part) {
    const input = element("input", { type: "text" });
    return row("name", input, () => { part.name = input.value; },
      () => { if (input !== document.activeElement) input.value = part.name; });
  }

  // What it does needs the form to be made anew: the focus goes to the same button there, or, if
  // that is gone, to the first. Its label may change, as names do.
  function button(textContent, say, act) {
    const made = element("button", { type: "button", textContent });
    const label = () => { made.title = made.ariaLabel = say(); };
    label();
    shown.push(label);
    made.addEventListener("click", () => {
      const { ariaLabel } = made;
      if (!isDone(act)) return;
      fillForm();
      const same = [...form.querySelectorAll("button")].find((one) => one.ariaLabel === ariaLabel);
      (same ?? form.querySelector("fieldset > button")).focus();
      changed();
    });
    return made;
  }

  // Rows that are there while something holds.
  function onlyIf(holds, ...rows) {
    shown.push(() => { for (const one of rows) one.hidden = !holds(); });
    return rows;
  }

  // The scheduler inside a domain; under fp tasks have priorities, in order if they had none.
  function schedulerRow(domain, tasks) {
    const own = schedulers[domain.scheduler];
    const words = schedulers.filter((one) => one === own || !["executor", "fair"].includes(one));
    const select = element("select", {}, ...words.map((one) => new Option(one)));
    return row("scheduler", select, () => {
      domain.scheduler = schedulers.indexOf(select.value);
      const isFp = select.value.endsWith("fp");
      tasks.forEach((task, at) => {
        task.priority = isFp ? task.priority ?? at : null;
        if (select.value.startsWith("g")) task.vcpu = null; // its jobs move
      });
    }, () => { select.value = schedulers[domain.scheduler]; });
  }

  // A text that may change, as names do.
  function textOf(say) {
    const text = document.createTextNode(say());
    shown.push(() => { text.data = say(); });
    return text;
  }

  function group(title, color, ...rows) {
    const chip = element("span", { className: "chip" });
    chip.style.background = color;
    const legend = element("legend", {}, ...(color ? [chip] : []), title);
    return element("fieldset", {}, legend, ...rows);
  }

  // Rows under a heading, with which the name of each control begins.
  function under(heading, ...rows) {
    shown.push(() => {
      for (const one of rows)
        for (const control of one.querySelectorAll("input, select"))
          control.ariaLabel = `${heading.firstChild.textContent} ${one.firstChild.textContent}`;
    });
    return [heading, ...rows];
  }

  function serverRows(say, server, ...buttons) {
    const { best_effort: isFree, period_ns: period } = server;
    const isPinned = server.part === "add_vcpu" && !setUp().is_global;
    return under(
      element("h3", {}, textOf(say), ...buttons),
      ...(isPinned ? onlyIf(() => setUp().pcpus > 1, number("pcpu", server, "pcpu")) : []),
      ...(isFree ? [] : [
        slider("budget", server, "budget_ns", () => server.period_ns),
        slider("period", server, "period_ns", () => 2 * (period || server.period_ns)),
      ]),
      ...(!isFree && "priority" in server ? [priorityRow(server)] : []),
    );
  }

  // The shortest execution: a part of the longest, rounded up.
  function bcetOf(wcet, [part, whole]) {
    const [share, all] = [BigInt(part) * BigInt(wcet), BigInt(whole)];
    return Math.max(1, Number((share + all - 1n) / all));
  }

  // A hop of a flow has no releases of its own. A deadline that is the period follows it.
  function taskRows(domain, task, isHop) {
    const { period_ns: period, wcet_ns: wcet } = task;
    let isPeriod = task.deadline_ns === period;
    const heading = element("h3", {}, textOf(() => task.name),
      button("×", () => `no task ${task.name}`, () => remove([task, ...overrunsOf(task)])));
    const name = nameRow(task);
    if (!period || !wcet) return under(heading, name);
    return under(
      heading,
      name,
      slider("wcet", task, "wcet_ns", () => Math.max(2 * wcet, period), () => {
        task.bcet_ns = bcetOf(task.wcet_ns, task.etf);
      }),
      ...(isHop ? [] : [slider("period", task, "period_ns", () => 2 * period, () => {
        if (isPeriod) task.deadline_ns = task.period_ns;
      }), slider("deadline", task, "deadline_ns", () => 2 * period, () => {
        isPeriod = task.deadline_ns === task.period_ns;
      })]),
      ...onlyIf(() => schedulers[domain.scheduler].endsWith("fp"), priorityRow(task)),
    );
  }

  function swapRows(swap) {
    const gone = button("×", () => "no such swap", () =>
      system.parts.splice(system.parts.indexOf(swap), 1));
    return under(
      element("h3", {}, "hot swap ", gone),
      policy("to", swap),
      slider("at", swap, "at_ns", () => setUp().horizon_ns),
    );
  }

  // --- who there is ----------------------------------------------------------------------------

  const partsOf = (domain) => partsOfDomain(system.parts, domain);
  const overrunsOf = (task) => following(system.parts, task, ["add_overrun"]);

  // Changes who there is. Flows and changes name tasks and vcpus by number: they keep theirs.
  function rearrange(change) {
    const before = { add_task: all("add_task"), add_vcpu: all("add_vcpu") };
    change();
    const now = (part, number) => all(part).indexOf(before[part][number]);
    for (const one of system.parts) {
      if (one.hops) one.hops = one.hops.map((task) => now("add_task", task));
      if (one.part === "add_change") one.vcpu = now("add_vcpu", one.vcpu);
    }
    system.parts = system.parts.filter((one) => one.part !== "add_change" || one.vcpu >= 0);
    chooseHorizon();
  }

  function remove(gone) {
    const tasks = all("add_task");
    const flow = system.parts.find((one) => one.hops?.some((task) => gone.includes(tasks[task])));
    if (flow)
      throw new Error(`flow ${flow.name}: found no such hop; allowed: every task that it passes`);
    rearrange(() => { system.parts = system.parts.filter((one) => !gone.includes(one)); });
  }

  function removeDomain(domain) {
    if (all("add_domain").length === 1)
      throw new Error("domain: found none; allowed: at least one");
    remove([domain, ...partsOf(domain)]);
  }

  // Tasks that are pinned to a vcpu that goes may run on all.
  function removeVcpu(domain, vcpu) {
    const its = partsOf(domain);
    const at = its.filter((one) => one.part === "add_vcpu").indexOf(vcpu);
    remove([vcpu]);
    for (const one of its.filter((one) => one.part === "add_task" && one.vcpu !== null))
      one.vcpu = one.vcpu === at ? null : one.vcpu - (one.vcpu > at ? 1 : 0);
  }

  const insert = (after, ...made) => rearrange(() =>
    system.parts.splice(system.parts.indexOf(after) + 1, 0, ...made));

  function newName(stem, taken) {
    let number = 1;
    while (taken.includes(`${stem}${number}`)) number += 1;
    return `${stem}${number}`;
  }

  // A task that asks for half of the server's bandwidth.
  function newTask(domain, { period_ns: period, budget_ns: budget }) {
    const its = partsOf(domain).filter((one) => one.part === "add_task");
    const [period_ns, wcet_ns] = [4 * (period || 1e7), 2 * (budget || 1e6)];
    const last = Math.max(-1, ...its.map((one) => one.priority ?? -1));
    const scheduler = schedulers[domain.scheduler];
    const priority = { executor: 0 }[scheduler] ?? (scheduler.endsWith("fp") ? last + 1 : null);
    return {
      part: "add_task", name: newName("task", its.map((one) => one.name)), etf: [1, 1], kind: 0,
      period_ns, wcet_ns, bcet_ns: wcet_ns, deadline_ns: period_ns, offset_ns: 0, jitter_ns: 0,
      priority, vcpu: null, // in an executor it is a timer
    };
  }

  // A domain with a tenth of a pcpu, in the longest period of the others, after all of them.
  function addDomain() {
    const servers = all("add_vcpu").filter((one) => !one.best_effort);
    const step = setUp().quantum_ns || 1;
    const longest = Math.max(0, ...servers.map((one) => one.period_ns));
    const period_ns = longest || 10 * (setUp().quantum_ns || 1e6);
    const budget_ns = Math.max(step, Math.floor(period_ns / 10 / step) * step);
    const ranks = servers.map((one) => one.priority).filter((one) => one !== given.ordinary);
    const taken = [...system.data.domains, ...system.data.vcpus].map((one) => one.name);
    const domain = { part: "add_domain", name: newName("vm", taken), scheduler: 0 };
    const vcpu = {
      part: "add_vcpu", pcpu: 0, priority: Math.max(-1, ...ranks) + 1, period_ns, budget_ns,
      best_effort: false, extra: false, weight: 0,
    };
    const last = all("add_domain").at(-1);
    insert([last, ...partsOf(last)].at(-1), domain, vcpu, newTask(domain, vcpu));
  }

  // The spare of a policy that has one, where none is given: analysis/servers/ertds.py, to the
  // nanosecond while their hyperperiod is exact as a Number.
  function giveSpare() {
    const [spare] = all("set_spare");
    const { slack, is_global: isGlobal, pcpus, quantum_ns: quantum } = setUp();
    const servers = all("add_vcpu").filter((one) => !one.best_effort);
    if (slacks[slack] !== "spare" || spare.budget_ns || !servers.length) return;
    const period_ns = servers.reduce((sum, one) => leastMultiple(sum, one.period_ns), 1);
    const groups = Map.groupBy(servers, (one) => (isGlobal ? 0 : one.pcpu));
    const left = [...groups.values()].map((group) => {
      const asked = group.map((one) => one.budget_ns * (period_ns / one.period_ns));
      const most = isGlobal ? pcpus : 1;
      return Math.min(period_ns, most * period_ns - (most - 1) * Math.max(...asked)
        - asked.reduce((sum, one) => sum + one, 0));
    });
    const budget = Math.min(...left);
    const budget_ns = Math.max(0, budget - (budget % (quantum || 1)));
    if (budget_ns) Object.assign(spare, { period_ns, budget_ns });
  }

  // What a file must not say either, in the words of the command line.
  function check() {
    const { timeText } = showTimeline;
    const require = (holds, where, found, allowed) => {
      if (!holds) throw new Error(`${where}: found ${found}; allowed: ${allowed}`);
    };
    const pattern = new RegExp(names.pattern);
    const named = (where, name, taken, allowed) => {
      require(pattern.test(name) && name.length <= names.limit, where, `'${name}'`, names.allowed);
      require(!taken.includes(name), where, `'${name}' a second time`, allowed);
    };
    const { pcpus } = setUp();
    require(pcpus <= given.mostPcpus, "pcpus", pcpus, `1 to ${given.mostPcpus}`);
    const taken = [];
    for (const domain of all("add_domain")) {
      const where = `domain ${domain.name}`;
      const its = partsOf(domain);
      const [vcpus, tasks] = ["add_vcpu", "add_task"].map((part) =>
        its.filter((one) => one.part === part));
      const own = [domain.name];
      if (vcpus.length > 1) own.push(...vcpus.map((_, at) => `${domain.name}.${at}`));
      for (const name of own)
        require(!taken.includes(name), `${where}: name`, `'${name}' a second time`,
          "each domain once (several vcpus are called name.0, name.1, ...)");
      taken.push(...own);
      named(`${where}: name`, domain.name, names.reserved,
        `a name other than ${names.reserved.join(", ")}`);
      for (const { best_effort: free, budget_ns: budget, period_ns: period } of vcpus)
        require(free || budget <= period, `${where}: budget`, `a budget of ${timeText(budget)}`,
          `at most the period, ${timeText(period)}`);
      for (const { pcpu } of vcpus)
        require(pcpu < pcpus, `${where}: pcpu`, pcpu, `0 to ${pcpus - 1}`);
      require(vcpus.length === 1 || schedulers[domain.scheduler] !== "executor",
        `${where}: vcpus`, vcpus.length, "one vcpu: an executor is one thread");
      require(tasks.length, `${where}: task`, "a domain without tasks", "at least one");
      tasks.forEach((task, at) => named(`${where}: task: name`, task.name,
        tasks.slice(0, at).map((one) => one.name), "each name once"));
    }
    all("add_swap").forEach(({ at_ns: at }, number, swaps) =>
      require(swaps.findIndex((one) => one.at_ns === at) === number, "swap: at", timeText(at),
        "swaps in order of time, one each"));
  }

  function domainRows(domain, at, hops) {
    const its = partsOf(domain);
    const [vcpus, tasks] = ["add_vcpu", "add_task"].map((part) =>
      its.filter((one) => one.part === part));
    const first = all("add_vcpu").indexOf(vcpus[0]);
    const legend = element("span", {}, textOf(() => domain.name), " ",
      button("×", () => `no domain ${domain.name}`, () => removeDomain(domain)));
    return group(
      legend,
      system.data.domains[at].color,
      ...under(
        element("span", { hidden: true }, textOf(() => `domain ${domain.name}`)),
        nameRow(domain),
        schedulerRow(domain, tasks)),
      ...vcpus.flatMap((server, number) => {
        const name = () => system.data.vcpus[first + number].name;
        const gone = button("×", () => `no vcpu ${name()}`, () => removeVcpu(domain, server));
        const what = server.best_effort ? "best effort: " : "server of ";
        return serverRows(() => `${what}${name()}`, server, ...(vcpus.length > 1 ? [gone] : []));
      }),
      ...tasks.flatMap((task) => taskRows(domain, task, hops.has(task))),
      element("div", { className: "adds" },
        button("+ vcpu", () => `another vcpu of ${domain.name}`, () => {
          insert(vcpus.at(-1), { ...vcpus.at(-1) });
        }),
        button("+ task", () => `another task of ${domain.name}`, () => {
          insert([domain, ...its].at(-1), newTask(domain, vcpus[0]));
        })),
    );
  }

  function fillForm() {
    shown = [];
    system.data = dataNow();
    const tasks = all("add_task");
    const hops = new Set(system.parts.flatMap((one) => one.hops ?? []).map((one) => tasks[one]));
    const swap = button("hot swap", () => "another policy from some instant on", () => {
      const last = Math.max(0, ...all("add_swap").map((one) => one.at_ns));
      const at_ns = Math.round(last + (setUp().horizon_ns - last) / 4);
      const { budget, order, slack } = setUp();
      system.parts.push({ part: "add_swap", at_ns, budget, order, slack });
    });
    const [set] = all("set_spare");
    const spare = onlyIf(() => set.budget_ns, ...serverRows(() => "spare", set));
    const add = button("+ domain", () => "another domain", addDomain);
    form.replaceChildren(
      group("", "",
        ...under(
          element("span", { hidden: true, textContent: "system" }),
          policy("policy", setUp()),
          number("pcpus", setUp(), "pcpus", 1, given.mostPcpus)),
        ...spare, ...all("add_swap").flatMap(swapRows), swap, add),
      ...all("add_domain").map((domain, at) => domainRows(domain, at, hops)),
    );
  }

  // --- the run ---------------------------------------------------------------------------------

  // Gives a run its length: so many first views, and a job of each task, with a view after the last
  // swap or change; or less, down to that view, until it has few records, and further until they
  // can be drawn.
  function chooseHorizon() {
    const [, view] = dataNow().windows[0].view;
    const least = Math.max(0, ...system.parts.map((one) => one.at_ns ?? 0)) + view;
    const judged = all("add_task").map((one) => (one.period_ns ?? 0) + (one.deadline_ns ?? 0));
    let horizon = Math.max(VIEWS * view, least, ...judged);
    const isLong = () => {
      try {
        simulate(module, partsNow(), horizon, RECORD * (horizon > least ? FEW : MOST));
      } catch (error) {
        return error instanceof RangeError; // else the run says what is refused
      }
      return false;
    };
    while (horizon > 1 && isLong())
      horizon = Math.max(Math.floor(horizon / 2), horizon > least ? least : 1);
    setUp().horizon_ns = horizon;
  }

  function dataNow() {
    const { is_global: isGlobal, pcpus } = setUp();
    return dataOf(system.parts, colors, isGlobal || pcpus === 1);
  }

  // The parts with swaps by time, as the simulator wants them.
  function partsNow() {
    const swaps = all("add_swap").sort((one, other) => one.at_ns - other.at_ns);
    return [...system.parts.filter((one) => one.part !== "add_swap"), ...swaps];
  }

  // Runs the system as it is now, for less time if that is too much. An Error says what is refused.
  function run(isNew) {
    giveSpare();
    system.data = dataNow();
    shown.forEach((show) => show());
    check();
    const began = performance.now();
    const simulated = () => simulate(module, partsNow(), setUp().horizon_ns, RECORD * MOST);
    let run = null;
    try {
      run = simulated();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      chooseHorizon();
      run = simulated();
    }
    const parts = partsNow();
    const records = recordsOf(run.records);
    const data = { ...system.data, servers: serversNow() };
    ran = { parts: structuredClone(system.parts), data, records };
    const { view } = data.windows[0];
    const win = windowOf(records, data, (rules) => policyOf(rules).name);
    showTimeline(
      { ...data, wholeEnd: win.end, allRecords: win.records, windows: [{ ...win, view }] }, isNew);
    tellCurves();
    tellFile(parts);
    tell(run.counts, performance.now() - began);
    document.getElementById("instant").replaceChildren();
    clearTimeout(keepTimer);
    keepTimer = setTimeout(keep, 300, JSON.stringify({ name: system.name, parts }));
  }

  // Runs the system after a change of it, which may refuse what it was given.
  function changed(change = () => {}) {
    isDone(() => {
      change();
      run(false);
    });
  }

  // Whether something could be done; why not is said.
  function isDone(act) {
    try {
      act();
      return true;
    } catch (error) {
      refuse(error.message);
      return false;
    }
  }

  function refuse(why) {
    said.className = "bad";
    said.textContent = `✗ ${why}`;
  }

  // The servers whose budgets are drawn, with what they have now: none under the sporadic rule,
  // the spare only where it is used.
  function serversNow() {
    const vcpus = all("add_vcpu");
    if (budgets[setUp().budget] === "sporadic") return [];
    const spare = slacks[setUp().slack] === "spare" || all("add_swap").length > 0;
    return system.data.servers
      .filter((one) => one.vcpu !== SPARE || spare)
      .map((one) => ({ ...one, budget: (vcpus[one.vcpu] ?? all("set_spare")[0]).budget_ns }));
  }

  function tell(counts, took) {
    const { tasks, domains } = system.data;
    const rows = tasks.map(({ name, domain }, at) => {
      const row = counts.slice(at * columns.length, (at + 1) * columns.length);
      const of = Object.fromEntries(columns.map((column, place) => [column, row[place]]));
      const cells = [of.jobs, of.misses, of.max_ns < 0 ? "" : showTimeline.timeText(of.max_ns)];
      const line = element("tr", {},
        element("th", { textContent: `${domains[domain].name} · ${name}` }),
        ...cells.map((text) => element("td", { textContent: text })));
      line.cells[2].className = of.misses ? "bad" : "";
      return line;
    });
    document.getElementById("tasks").replaceChildren(...rows);
    said.className = "soft";
    const horizon = showTimeline.timeText(setUp().horizon_ns);
    said.textContent = `${ran.records.length} records of ${horizon}, `
      + `simulated and drawn in ${Math.round(took)} ms`;
  }

  // --- supply and demand -----------------------------------------------------------------------

  const WIDE = [54, 326, 12, 150]; // left, right, top and bottom of a plot
  const SAMPLES = 280; // of a curve: about a dot of the plot each

  function drawing(kind, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // A picture for each server: its supply, the demand of its tasks, and what the run has shown.
  function tellCurves() {
    const policy = policyOf(ruleOf(setUp()));
    document.getElementById("curves").replaceChildren(...system.data.vcpus.map((vcpu, id) => {
      const { why, ...curves } = supplyOf(system.parts, id, policy, schedulers);
      const { color } = system.data.domains[vcpu.domain];
      const name = element("figcaption", { textContent: vcpu.name, className: "name" });
      const parts = why ? [element("p", { className: "note", textContent: why })]
        : pictureOf(vcpu.name, color, all("add_vcpu")[id], curves,
          seenSupply(ran.records, id, curves.step));
      return element("figure", { className: "chart card" }, name, ...parts);
    }));
  }

  function pictureOf(name, color, server, { dark, supply, demand, step, lack }, seen) {
    const { timeText } = showTimeline;
    const last = Math.max(dark + 2 * server.period_ns, ...demand.map((one) => one.until));
    const end = Math.round(last * 1.08);
    const at = (number, until = end) => Math.floor((until * number) / SAMPLES);
    const points = (curve, until = end) => Array.from({ length: SAMPLES + 1 }, (_, number) =>
      [at(number, until), curve(at(number, until))]);
    const seenPoints = [];
    for (let number = 0; number <= SAMPLES; number += 4) { // dearer than the others
      const least = seen(at(number));
      if (least !== null) seenPoints.push([at(number), least]);
    }
    const curves = [
      ...demand.map((one) => ({ style: "demand", points: points(one.at, one.until) })),
      { style: "supply", points: points(supply) },
      { style: "seen", points: seenPoints },
    ];
    const most = Math.max(1, ...curves.flatMap((one) => one.points.map(([, amount]) => amount)));
    const [left, right, top, bottom] = WIDE;
    const x = (time) => left + ((right - left) * time) / end;
    const y = (amount) => bottom - ((bottom - top) * amount) / most;
    const text = (where, words) => drawing("text", where, words);
    const svg = drawing("svg", { viewBox: "0 0 340 172", role: "img" },
      drawing("title", {}, `Supply and demand of ${name} in windows up to ${timeText(end)}`),
      drawing("path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}` }),
      text({ x: left - 4, y: top + 8, "text-anchor": "end" }, timeText(most)),
      text({ x: left, y: bottom + 16 }, "0"),
      text({ x: right, y: bottom + 16, "text-anchor": "end" }, `window ${timeText(end)}`),
      ...curves.map(({ style, points: line }) => drawing("path", {
        class: style,
        style: style === "supply" ? `stroke: ${color}` : "",
        d: line.map(([time, amount], place) =>
          `${place ? "L" : "M"}${x(time).toFixed(1)} ${y(amount).toFixed(1)}`).join(""),
      })),
      ...demand.filter((one) => one.name).map((one) => drawing("circle",
        { class: "due", cx: x(one.until), cy: y(one.at(one.until)), r: 3 },
        drawing("title", {}, `${one.name}: deadline ${timeText(one.until)}`))));
    const [budget, period, none] = [server.budget_ns, server.period_ns, dark].map(timeText);
    const lacks = seenPoints.find(([time, amount]) => amount < supply(time));
    const from = step ? " in windows that begin with a period" : "";
    const words = [lacks
      ? `✗ it does not get its budget: ${timeText(lacks[1])} in a window of ${timeText(lacks[0])}`
      : `${budget} in ${period}: at most ${none} without supply${from}`];
    if (lack !== Infinity) {
      const where = lack ? `a window of ${timeText(lack)}` : "longer windows";
      words.push(`✗ its tasks may ask for more than is guaranteed in ${where}`);
    }
    return [svg, ...words.map((textContent) =>
      element("p", { className: `note${textContent[0] === "✗" ? " bad" : ""}`, textContent }))];
  }

  // The system as a file, to be copied or saved.
  function tellFile(parts) {
    const save = document.getElementById("save");
    let text = "";
    try {
      text = tomlOf(system.name, parts, (one) => policyOf(ruleOf(one)), given);
    } catch ({ message }) {
      text = `# No system file: found ${message}\n`;
    }
    document.getElementById("file").value = text;
    save.download = `${system.name}.toml`;
    save.href = `data:application/toml;charset=utf-8,${encodeURIComponent(text)}`;
  }

  // --- instant by instant ----------------------------------------------------------------------

  function tellInstant({ detail }) {
    now = detail;
    const at = ({ kind, time, value }) => (kind === Kind.MISS ? value : time); // the deadline
    const lines = ran.records.filter((one) => at(one) === now).map(sentence).filter(Boolean);
    document.getElementById("instant").replaceChildren(
      ...lines.map((text) => element("li", { textContent: text })));
  }

  const nameOf = (id) => (id === SPARE ? "the spare" : ran.data.vcpus[id]?.name);

  // A record in words; who has a pcpu, with the rule that gave it.
  function sentence(one) {
    const job = one.task >= 0 && `${ran.data.tasks[one.task].name}, job ${one.job},`;
    switch (one.kind) {
      case Kind.RUN: return `pcpu ${one.pcpu}: ${nameOf(one.vcpu)} runs${job ? ` ${job}` : ""} ${whyRuns(one)}`;
      case Kind.IDLE: return `pcpu ${one.pcpu}: ${whyIdle(one)}`;
      case Kind.CHARGE: return `${nameOf(one.payer)} has paid ${showTimeline.timeText(one.value)}`;
      case Kind.REPLENISH: return `${nameOf(one.vcpu)} has ${showTimeline.timeText(one.value)} again`;
      case Kind.DEPLETE: return `${nameOf(one.vcpu)} has nothing left`;
      case Kind.RELEASE: return `${job} is released`;
      case Kind.COMPLETE: return `${job} is done after ${showTimeline.timeText(one.value)}`;
      case Kind.MISS: return `${job} has missed its deadline: ${whyMissed(one)}`;
      case Kind.SWAP: return `from here on ${policyOf(one.value).name}`;
      default: return null; // who has work follows from these
    }
  }

  // What became of the time from the release of a job to its deadline.
  function whyMissed({ task, job, value: time }) {
    const { vcpus, tasks } = ran.data;
    const { vcpu } = ran.parts.filter((one) => "wcet_ns" in one)[task];
    const domains = vcpus.map((_, at) => at).filter((at) => vcpus[at].domain === tasks[task].domain);
    const its = vcpu === null ? domains : [domains[vcpu]]; // it may be pinned to one of them
    const release = ran.records.find((one) =>
      one.kind === Kind.RELEASE && one.task === task && one.job === job).time;
    const { is_global: isGlobal, pcpus } = setUp(ran);
    const served = all("add_vcpu", ran);
    const where = new Set(isGlobal ? Array(pcpus).keys() : its.map((at) => served[at].pcpu));
    const spent = { ran: 0, domain: 0, stolen: 0, empty: 0, others: 0 };
    const isUnpaid = (one) => one.kind === Kind.IDLE && one.payer === -1; // nobody may have it
    const names = new Set();
    const on = new Map(); // what each pcpu does
    const empty = new Set();
    let last = 0;
    const pass = (until) => {
      const length = until - Math.max(last, release);
      last = until;
      if (length <= 0) return;
      const runs = [...on.values()].filter((one) => where.has(one.pcpu));
      if (runs.some((one) => one.task === task && one.job === job)) spent.ran += length;
      else if (runs.some((one) => its.includes(one.vcpu))) spent.domain += length;
      else if (runs.every((one) => one.flags & Flag.STOLEN)) spent.stolen += length;
      else if (its.every((at) => empty.has(at)) || runs.every(isUnpaid)) spent.empty += length;
      else {
        spent.others += length;
        for (const { kind, vcpu: id, payer } of runs)
          names.add(nameOf(kind === Kind.RUN ? id : payer)); // who pays for an idle pcpu
      }
    };
    for (const one of ran.records.filter((one) => one.time <= time)) {
      pass(one.time);
      if (one.kind === Kind.RUN || one.kind === Kind.IDLE) on.set(one.pcpu, one);
      else if (one.kind === Kind.DEPLETE) empty.add(one.vcpu);
      else if (one.kind === Kind.REPLENISH) empty.delete(one.vcpu);
    }
    pass(time);
    names.delete(undefined); // a pcpu that is idle for nobody
    const own = its.map(nameOf).join(" and ");
    const said = [
      [spent.ran, "it ran"],
      [spent.domain, `other jobs of ${own} ran`],
      [spent.stolen, "its pcpus were stolen"],
      [spent.empty, `${own} had no budget`],
      [spent.others, `others came first${names.size ? ` (${[...names].join(", ")})` : ""}`],
    ];
    return `of ${showTimeline.timeText(time - release)} ${said.filter(([length]) => length)
      .map(([length, what]) => `${what} for ${showTimeline.timeText(length)}`).join(", ")}`;
  }

  // The rules in force, by their words.
  function rulesNow() {
    const swap = ran.records.findLast((one) => one.kind === Kind.SWAP && one.time <= now);
    const { order, slack } = swap ? policyOf(swap.value) : setUp(ran);
    return { order: orders[order], slack: slacks[slack] };
  }

  function whyRuns({ vcpu, payer, flags, value }) {
    const { order, slack } = rulesNow();
    const until = value < 0 ? "" : `, until ${showTimeline.timeText(value)} at the latest`;
    const both = flags & Flag.SECOND_PAYER ? `, and so does ${nameOf(vcpu)}` : "";
    if (flags & Flag.EXTRA) return `on extra time: the slack rule ${slack}${until}`;
    if (payer === -1) return `for nothing: no server wants the pcpu${until}`;
    if (payer === vcpu) return `on its own budget: it is first by ${order}${until}`;
    return `and ${nameOf(payer)} pays${both}: the slack rule ${slack}${until}`;
  }

  function whyIdle({ payer, flags }) {
    if (flags & Flag.STOLEN) return "stolen, and not there to be granted";
    return payer === -1 ? "idle" : `idle, and ${nameOf(payer)} pays: its budget passes unused`;
  }

  // --- the beginning ---------------------------------------------------------------------------

  function keep(kept) {
    const ascii = kept.replace(/[^ -~]/g, (one) =>
      `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
    const [zoom] = /^#zoom=[^&]*|$/.exec(location.hash);
    history.replaceState(null, "", `${zoom || "#"}&system=${btoa(ascii)}`);
  }

  // Begins with an example, or with what a link has.
  function begin({ name, description = "", parts }) {
    system = { name, parts: structuredClone(parts) };
    check();
    document.getElementById("description").textContent = description;
    const known = new Set([...examples.map((one) => one.name), name]);
    choice.replaceChildren(...[...known].map((one) => new Option(one)));
    choice.value = name;
    if (setUp().horizon_ns === null) chooseHorizon();
    fillForm();
    run(true);
  }

  const exampleOf = (name) => examples.find((one) => one.name === name);

  function beginExample(name) {
    const example = exampleOf(name);
    if (!example) return; // what a link has is shown already
    const [, view] = dataOf(example.parts, colors).windows[0].view;
    history.replaceState(null, "", `#zoom=0ns,${view}ns`);
    isDone(() => begin(example));
  }

  // The system of the address, if it has one.
  function linked() {
    const [, packed] = /&system=(.*)/.exec(location.hash) ?? [];
    if (!packed) return false;
    try {
      const { name, parts } = JSON.parse(atob(packed));
      begin({ ...exampleOf(name), name, ...(parts && { parts }) });
    } catch ({ message }) {
      beginExample(FIRST);
      refuse(`the link has no system that runs here: ${message}`);
    }
    return true;
  }

  choice.addEventListener("change", () => beginExample(choice.value));
  document.getElementById("copy").addEventListener("click", () => {
    document.getElementById("file").select();
    document.execCommand("copy"); // the clipboard of pages from a disk
  });
  window.addEventListener("hashchange", linked);
  document.getElementById("timeline").addEventListener("instant", tellInstant);
  if (!linked()) beginExample(FIRST);
})();
