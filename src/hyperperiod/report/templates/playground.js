// SPDX-License-Identifier: BSD-2-Clause
//
// The playground: a form of a system, which runs in this page whenever something is changed. The
// page holds examples (docs/playground.py), each as the parts that the simulator is told and as what
// the timeline says beside its records. The form changes the parts, and nothing else is kept.
"use strict";
(() => {
  const { examples, policies, schedulers, budgets, slacks, columns } = JSON.parse(
    document.getElementById("data").textContent);
  const packed = atob(document.getElementById("simulator").textContent);
  const module = new WebAssembly.Module(Uint8Array.from(packed, (one) => one.charCodeAt(0)));
  const form = document.getElementById("system");
  const said = document.getElementById("said");
  const choice = document.getElementById("example");
  const SPARE = -2;
  let system = null; // a copy of the example that is changed
  let shown = []; // what brings each control to what it controls

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
  function row(label, input, take, show) {
    const output = element("output");
    shown.push(() => { output.textContent = show(input) ?? ""; });
    input.addEventListener("input", () => {
      take(input);
      changed();
    });
    return element("label", {}, element("span", { textContent: label }), input, output);
  }

  // Times are taken in round steps (those of servers in quanta, where there is one), but stay as
  // they are until they are moved.
  function slider(label, part, key, most, take = () => {}) {
    const input = element("input", { type: "range", step: "any", min: 0 });
    input.dataset.of = `${part.part} ${all(part.part).indexOf(part)} ${key}`;
    return row(label, input, () => {
      const round = 10 ** Math.max(0, Math.floor(Math.log10(input.max / 100)));
      const step = (part.part !== "add_task" && setUp().quantum_ns) || round;
      const before = part[key];
      part[key] = Math.max(step, Math.round(input.value / step) * step);
      take(before);
    }, () => {
      input.max = most();
      input.value = part[key];
      return showTimeline.timeText(part[key]);
    });
  }

  function number(label, part, key) {
    const input = element("input", { type: "number", min: 0, value: part[key] });
    return row(label, input, () => { part[key] = Math.max(0, Math.round(input.value)); }, () => {});
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

  function serverRows(name, server) {
    if (server.period_ns === 0) return [];
    const { period_ns: period } = server;
    return [
      element("h3", { textContent: name }),
      slider("budget", server, "budget_ns", () => server.period_ns),
      slider("period", server, "period_ns", () => 2 * period),
      ...("priority" in server ? [number("priority", server, "priority")] : []),
    ];
  }

  function taskRows(name, task, scheduler) {
    const { period_ns: period, wcet_ns: wcet } = task;
    if (!period || !wcet) return [];
    return [
      element("h3", { textContent: name }),
      slider("wcet", task, "wcet_ns", () => Math.max(2 * wcet, period), (before) => {
        if (task.bcet_ns === before || task.bcet_ns > task.wcet_ns) task.bcet_ns = task.wcet_ns;
      }),
      slider("period", task, "period_ns", () => 2 * period, (before) => {
        if (task.deadline_ns === before) task.deadline_ns = task.period_ns;
      }),
      ...(scheduler.endsWith("fp") ? [number("priority", task, "priority")] : []),
    ];
  }

  function swapRows(swap) {
    const remove = button("×", "no such swap", () =>
      system.parts.splice(system.parts.indexOf(swap), 1));
    return [
      element("h3", {}, "hot swap ", remove),
      policy("to", swap),
      slider("at", swap, "at_ns", () => setUp().horizon_ns),
    ];
  }

  function fillForm() {
    shown = [];
    const { domains, vcpus, tasks, servers } = system.data;
    const [servers_, tasks_] = [all("add_vcpu"), all("add_task")];
    const swap = button("swap", "another policy from some instant on", () => {
      const at_ns = setUp().horizon_ns / 4;
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
          domain === at ? taskRows(name, tasks_[id], schedulers[scheduler]) : []),
      )),
    );
  }

  // --- the run ---------------------------------------------------------------------------------

  // Runs the system as it is now.
  function changed() {
    shown.forEach((show) => show());
    const swaps = all("add_swap").sort((one, other) => one.at_ns - other.at_ns);
    const parts = [...system.parts.filter((one) => one.part !== "add_swap"), ...swaps];
    const began = performance.now();
    try {
      const { records, counts } = simulate(module, parts, setUp().horizon_ns);
      const data = { ...system.data, servers: serversNow(swaps) };
      const { view } = data.windows[0];
      const win = windowOf(records, data, (rules) => policyOf(rules).name);
      showTimeline({
        ...data, wholeEnd: win.end, allRecords: win.records, windows: [{ ...win, view }],
      });
      tell(counts, win.records, performance.now() - began);
    } catch (error) {
      said.className = "bad";
      said.textContent = `✗ ${error.message}`;
    }
  }

  // The servers whose budgets are drawn, with what they have now: none under the sporadic rule,
  // the spare only where it is used.
  function serversNow(swaps) {
    const vcpus = all("add_vcpu");
    if (budgets[setUp().budget] === "sporadic") return [];
    const spare = slacks[setUp().slack] === "spare" || swaps.length > 0;
    return system.data.servers
      .filter((one) => one.vcpu !== SPARE || spare)
      .map((one) => ({ ...one, budget: (vcpus[one.vcpu] ?? all("set_spare")[0]).budget_ns }));
  }

  function tell(counts, records, took) {
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
    said.textContent = `${records} records of ${showTimeline.timeText(setUp().horizon_ns)}, `
      + `simulated and drawn in ${Math.round(took)} ms`;
  }

  // --- the beginning ---------------------------------------------------------------------------

  function begin(name) {
    system = structuredClone(examples.find((one) => one.name === name));
    document.getElementById("about").textContent = system.description;
    const { view } = system.data.windows[0];
    history.replaceState(null, "", `#zoom=${view[0]}ns,${view[1]}ns`);
    fillForm();
    changed();
  }

  choice.append(...examples.map((one) => new Option(one.name)));
  choice.addEventListener("change", () => begin(choice.value));
  choice.value = "flight-control";
  begin(choice.value);
})();
