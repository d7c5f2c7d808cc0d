// SPDX-License-Identifier: BSD-2-Clause
//
// The playground: a form of a system, which runs in this page whenever something is changed. The
// page holds examples (docs/playground.py), each as the parts that the simulator is told, with names.
// The form changes the parts, and nothing else is kept: the address holds them, so that it is a link
// to any system, which need not be one of these.
"use strict";
(() => {
  const { examples, policies, schedulers, budgets, orders, slacks, columns, colors } =
    JSON.parse(document.getElementById("data").textContent);
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
  let records = []; // of the last run
  let now = 0; // the instant that is told
  let keepTimer = 0;

  const all = (part) => system.parts.filter((one) => one.part === part);
  const setUp = () => system.parts[0];
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
    const input = element("input", { type: "range", step: "any", min: 0 });
    const exact = element("input", { type: "number", step: "any", min: 0 });
    exact.addEventListener("change", () => changed(() => {
      part[key] = typed(exact, 1000, "a time above 0");
      follow();
    }));
    input.dataset.of = `${part.part} ${all(part.part).indexOf(part)} ${key}`;
    return row(`${label} (µs)`, input, () => {
      const round = 10 ** Math.max(0, Math.floor(Math.log10(input.max / 100)));
      const step = (part.part !== "add_task" && setUp().quantum_ns) || round;
      part[key] = Math.max(step, Math.round(input.value / step) * step);
      follow();
    }, () => {
      input.max = most();
      input.value = part[key];
      input.ariaValueText = showTimeline.timeText(part[key]);
      exact.value = part[key] / 1000;
    }, exact);
  }

  // Returns what was typed in so many of the parts' units. An Error says what else was found.
  function typed({ value, min, ariaLabel }, scale, allowed) {
    const whole = Math.round(value * scale);
    if (value === "" || whole < min || (scale > 1 && whole === 0))
      throw new Error(`${ariaLabel}: found ${value || "no number"}; allowed: ${allowed}`);
    return whole;
  }

  function number(label, part, key) {
    const input = element("input", { type: "number", min: 0 });
    return row(label, input, () => { part[key] = typed(input, 1, "a whole number from 0"); },
      () => { input.value = part[key]; });
  }

  function policy(label, part) {
    const options = ownPolicies().map((one) => new Option(one.name, ruleOf(one)));
    const select = element("select", {}, ...options);
    return row(label, select, () => {
      const { budget, order, slack } = policyOf(Number(select.value));
      Object.assign(part, { budget, order, slack });
    }, () => { select.value = ruleOf(part); });
  }

  function button(text, title, act) {
    const made = element("button", { type: "button", textContent: text, title });
    made.addEventListener("click", () => {
      act();
      fillForm();
      form.querySelector("fieldset > button").focus(); // what was pressed is made anew, or gone
      changed();
    });
    return made;
  }

  function group(title, color, ...rows) {
    const chip = element("span", { className: "chip" });
    chip.style.background = color;
    const legend = element("legend", {}, ...(color ? [chip] : []), title);
    return element("fieldset", {}, legend, ...rows);
  }

  // Rows under a heading, with which the name of each control begins.
  function under(heading, ...rows) {
    for (const one of rows)
      for (const control of one.querySelectorAll("input, select"))
        control.ariaLabel = `${heading.firstChild.textContent} ${one.firstChild.textContent}`;
    return [heading, ...rows];
  }

  function serverRows(name, server) {
    if (server.period_ns === 0) return [];
    const { period_ns: period } = server;
    return under(
      element("h3", { textContent: name }),
      slider("budget", server, "budget_ns", () => server.period_ns),
      slider("period", server, "period_ns", () => 2 * period),
      ...("priority" in server ? [number("priority", server, "priority")] : []),
    );
  }

  // The shortest execution: a part of the longest, rounded up.
  function bcetOf(wcet, [part, whole]) {
    const [share, all] = [BigInt(part) * BigInt(wcet), BigInt(whole)];
    return Math.max(1, Number((share + all - 1n) / all));
  }

  // A hop of a flow has no releases of its own. A deadline that is the period follows it.
  function taskRows(name, id, scheduler, isHop) {
    const task = all("add_task")[id];
    const { period_ns: period, wcet_ns: wcet, deadline_ns: deadline } = task;
    if (!period || !wcet) return [];
    return under(
      element("h3", { textContent: name }),
      slider("wcet", task, "wcet_ns", () => Math.max(2 * wcet, period), () => {
        task.bcet_ns = bcetOf(task.wcet_ns, task.etf);
      }),
      ...(isHop ? [] : [slider("period", task, "period_ns", () => 2 * period, () => {
        if (deadline === period) task.deadline_ns = task.period_ns;
      })]),
      ...(scheduler.endsWith("fp") ? [number("priority", task, "priority")] : []),
    );
  }

  function swapRows(swap) {
    const remove = button("×", "no such swap", () =>
      system.parts.splice(system.parts.indexOf(swap), 1));
    return under(
      element("h3", {}, "hot swap ", remove),
      policy("to", swap),
      slider("at", swap, "at_ns", () => setUp().horizon_ns),
    );
  }

  function fillForm() {
    shown = [];
    const { domains, vcpus, tasks, servers } = system.data;
    const servers_ = all("add_vcpu");
    const hops = new Set(system.parts.flatMap((one) => one.hops ?? []));
    const swap = button("hot swap", "another policy from some instant on", () => {
      const at_ns = Math.round(setUp().horizon_ns / 4);
      const { budget, order, slack } = setUp();
      system.parts.push({ part: "add_swap", at_ns, budget, order, slack });
    });
    const spare = servers.some((one) => one.vcpu === SPARE) ? serverRows("spare", all("set_spare")[0]) : [];
    form.replaceChildren(
      group("", "", policy("policy", setUp()), ...spare, ...all("add_swap").flatMap(swapRows), swap),
      ...all("add_domain").map(({ scheduler }, at) => group(
        domains[at].name,
        domains[at].color,
        ...vcpus.flatMap(({ name, domain }, id) =>
          domain === at ? serverRows(`server of ${name}`, servers_[id]) : []),
        ...tasks.flatMap(({ name, domain }, id) =>
          domain === at ? taskRows(name, id, schedulers[scheduler], hops.has(id)) : []),
      )),
    );
  }

  // --- the run ---------------------------------------------------------------------------------

  // Gives a run its length: so many first views, and one after the last swap or change; or less,
  // down to that, until it has few records.
  function chooseHorizon() {
    const [, view] = system.data.windows[0].view;
    const least = Math.max(0, ...system.parts.map((one) => one.at_ns ?? 0)) + view;
    setUp().horizon_ns = Math.max(VIEWS * view, least);
    const isLong = () => {
      try {
        return !simulate(module, partsNow(), setUp().horizon_ns, RECORD * FEW);
      } catch {
        return true; // the run says what is refused
      }
    };
    while (setUp().horizon_ns > least && isLong())
      setUp().horizon_ns = Math.max(Math.floor(setUp().horizon_ns / 2), least);
  }

  // The parts with swaps by time, as the simulator wants them.
  function partsNow() {
    const swaps = all("add_swap").sort((one, other) => one.at_ns - other.at_ns);
    return [...system.parts.filter((one) => one.part !== "add_swap"), ...swaps];
  }

  // Runs the system as it is now. An Error says what is refused.
  function run(isNew) {
    shown.forEach((show) => show());
    const parts = partsNow();
    const began = performance.now();
    const run = simulate(module, parts, setUp().horizon_ns, RECORD * MOST);
    records = recordsOf(run.records);
    const data = { ...system.data, servers: serversNow() };
    const { view } = data.windows[0];
    const win = windowOf(records, data, (rules) => policyOf(rules).name);
    showTimeline(
      { ...data, wholeEnd: win.end, allRecords: win.records, windows: [{ ...win, view }] }, isNew);
    tellCurves();
    tell(run.counts, performance.now() - began);
    document.getElementById("instant").replaceChildren();
    clearTimeout(keepTimer);
    keepTimer = setTimeout(keep, 300, JSON.stringify({ name: system.name, parts }));
  }

  // Runs the system after a change of it, which may refuse what it was given.
  function changed(change = () => {}) {
    try {
      change();
      run(false);
    } catch (error) {
      refuse(error.message);
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
    said.textContent = `${records.length} records of ${showTimeline.timeText(setUp().horizon_ns)}, `
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
        : pictureOf(vcpu.name, color, all("add_vcpu")[id], curves, seenSupply(records, id, curves.step));
      return element("figure", { className: "chart card" }, name, ...parts);
    }));
  }

  function pictureOf(name, color, server, { dark, supply, demand, step }, seen) {
    const { timeText } = showTimeline;
    const end = Math.ceil(Math.max(dark + 2 * server.period_ns, ...demand.map((one) => one.until)) * 1.08);
    const at = (number, until = end) => Math.floor((until * number) / SAMPLES);
    const points = (curve, until = end) => Array.from({ length: SAMPLES + 1 }, (_, number) =>
      [at(number, until), curve(at(number, until))]);
    const seenPoints = [];
    for (let number = 0; number <= SAMPLES; number += 4) { // dearer than the others
      const least = seen(at(number));
      if (least !== null) seenPoints.push([at(number), least]);
    }
    const curves = [
      ...demand.map((one) => ({ style: "demand", points: points(one.at, Math.min(end, one.until)) })),
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
      ...curves.map(({ style, points: line }) => drawing("path", { class: style,
        style: style === "supply" ? `stroke: ${color}` : "",
        d: line.map(([time, amount], place) => `${place ? "L" : "M"}${x(time).toFixed(1)} ${y(amount).toFixed(1)}`).join("") })),
      ...demand.filter((one) => one.name).map((one) => drawing("circle",
        { class: "due", cx: x(one.until), cy: y(one.at(one.until)), r: 3 },
        drawing("title", {}, `${one.name}: deadline ${timeText(one.until)}`))));
    const [budget, period, none] = [server.budget_ns, server.period_ns, dark].map(timeText);
    const lacks = seenPoints.find(([time, amount]) => amount < supply(time));
    const from = step ? `, from a multiple of ${period} on` : "";
    const words = lacks
      ? `✗ it does not get its budget: only ${timeText(lacks[1])} in a window of ${timeText(lacks[0])}`
      : `${budget} in ${period}: none for ${none} at most${from}`;
    return [svg, element("p", { className: `note${lacks ? " bad" : ""}`, textContent: words })];
  }

  // --- instant by instant ----------------------------------------------------------------------

  function tellInstant({ detail }) {
    now = detail;
    const at = ({ kind, time, value }) => (kind === Kind.MISS ? value : time); // the deadline
    const lines = records.filter((one) => at(one) === now).map(sentence).filter(Boolean);
    document.getElementById("instant").replaceChildren(
      ...lines.map((text) => element("li", { textContent: text })));
  }

  const nameOf = (id) => (id === SPARE ? "the spare" : system.data.vcpus[id]?.name);

  // A record in words; who has a pcpu, with the rule that gave it.
  function sentence(one) {
    const job = one.task >= 0 && `${system.data.tasks[one.task].name}, job ${one.job},`;
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
    const { vcpus, tasks } = system.data;
    const { vcpu } = system.parts.filter((one) => "wcet_ns" in one)[task];
    const domains = vcpus.map((_, at) => at).filter((at) => vcpus[at].domain === tasks[task].domain);
    const its = vcpu === null ? domains : [domains[vcpu]]; // it may be pinned to one of them
    const release = records.find((one) =>
      one.kind === Kind.RELEASE && one.task === task && one.job === job).time;
    const { is_global: isGlobal, pcpus } = setUp();
    const where = new Set(isGlobal ? Array(pcpus).keys() : its.map((at) => all("add_vcpu")[at].pcpu));
    const spent = { ran: 0, domain: 0, empty: 0, others: 0 };
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
      else if (its.every((at) => empty.has(at)) || runs.every(isUnpaid)) spent.empty += length;
      else {
        spent.others += length;
        for (const { kind, vcpu: id, payer } of runs)
          names.add(nameOf(kind === Kind.RUN ? id : payer)); // who pays for an idle pcpu
      }
    };
    for (const one of records.filter((one) => one.time <= time)) {
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
      [spent.empty, `${own} had no budget`],
      [spent.others, `others came first${names.size ? ` (${[...names].join(", ")})` : ""}`],
    ];
    return `of ${showTimeline.timeText(time - release)} ${said.filter(([length]) => length)
      .map(([length, what]) => `${what} for ${showTimeline.timeText(length)}`).join(", ")}`;
  }

  // The rules in force, by their words.
  function rulesNow() {
    const swap = records.findLast((one) => one.kind === Kind.SWAP && one.time <= now);
    const { order, slack } = swap ? policyOf(swap.value) : setUp();
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
    const { is_global: isGlobal, pcpus } = parts[0];
    system = { name, parts: structuredClone(parts), data: dataOf(parts, colors, isGlobal || pcpus === 1) };
    document.getElementById("description").textContent = description;
    const names = new Set([...examples.map((one) => one.name), name]);
    choice.replaceChildren(...[...names].map((one) => new Option(one)));
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
    begin(example);
  }

  // The system of the address, if it has one.
  function linked() {
    const [, packed] = /&system=(.*)/.exec(location.hash) ?? [];
    if (!packed) return false;
    try {
      const { name, parts } = JSON.parse(atob(packed));
      begin({ ...exampleOf(name), name, ...(parts && { parts }) });
    } catch {
      beginExample(FIRST);
      refuse("the link has no system of this page");
    }
    return true;
  }

  choice.addEventListener("change", () => beginExample(choice.value));
  window.addEventListener("hashchange", linked);
  document.getElementById("timeline").addEventListener("instant", tellInstant);
  if (!linked()) beginExample(FIRST);
})();
