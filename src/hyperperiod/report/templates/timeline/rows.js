// SPDX-License-Identifier: BSD-2-Clause
//
// What the timeline draws where: its rows, and the parts of the view that windows and columns
// have.

function layOut() {
  const found = [];
  let y = TOP;
  const add = (row) => {
    found.push({ ...row, y, height: HEIGHTS[row.kind] });
    y += HEIGHTS[row.kind];
  };
  const group = (title, all) => {
    if (!all.length) return;
    const chosen = choose(all);
    const part = chosen.length < all.length ? `: ${chosen.length} of ${all.length}` : "";
    add({ kind: "head", label: title + part });
    chosen.forEach(add);
  };
  const paid = data.overview ? " (in columns: what was paid)" : "";
  group("pcpus", data.windows[0].pcpus.map((_, index) =>
    rowOf("pcpu", index, `pcpu ${baseOf(index)}`, null)));
  group(`remaining budgets${paid}`, data.servers.map(({ name, vcpu, run }, index) =>
    ({ ...rowOf("server", index, name, domainOf(vcpu), run), base: name })));
  group("tasks", data.tasks.map(({ name, domain }, index) =>
    rowOf("task", index, name, data.domains[domain])));
  return found;
}

// A row; those of other runs with the same base stand below it.
function rowOf(kind, index, name, domain, run = index % data.runs.length) {
  return { kind, index, name, domain, run: data.runs[run], base: baseOf(index), label: runName(run) + name };
}

// The rows to show of a group, in order: those that match the filter, else all, else as many as the
// limit allows, beginning with those that the target has to do with, of which its own are always
// shown. Those of all runs go together, and all runs have as many pcpus as one would have.
function choose(all) {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = all.filter(({ label, domain }) => {
    const text = `${label} ${domain?.name ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const [{ kind }] = all;
  if (words.length && (matching.length || kind !== "pcpu")) return matching.slice(0, MOST);
  if (all.length <= LONG) return all;
  const near = neighbours();
  const ranks = new Map(all.map(({ base, domain }) =>
    [base, near.get(`${kind} ${base}`) || near.get(domain?.name) || 0]));
  const bases = [...ranks.keys()].sort((a, b) => ranks.get(b) - ranks.get(a));
  const own = bases.filter((base) => ranks.get(base) === OWN).length;
  const count = kind === "pcpu" ? limit : Math.max(1, Math.floor(limit / data.runs.length));
  const chosen = new Set(bases.slice(0, Math.max(own, count)));
  return all.filter(({ base }) => chosen.has(base));
}

// What the target has to do with: by kind and base its own tasks and the servers that they run on
// (OWN), then its pcpus; by name the domains of its tasks (2), then those that run on its pcpus (1).
function neighbours() {
  const near = new Map();
  if (!target?.win) return near;
  const { win, moment } = target;
  const tasks = tasksOf(target);
  const ran = tasks.flatMap((task) => executions(win)[task].map((one) => one[2]));
  for (const pcpu of new Set([moment.pcpu ?? ran].flat())) {
    near.set(`pcpu ${baseOf(pcpu)}`, 2);
    const spans = win.pcpus[pcpu];
    for (let at = 0; at < spans.length; at += SPAN) {
      if (spans[at + 2] < 0) continue;
      near.set(domainOf(spans[at + 2]).name, 1);
      if (tasks.includes(spans[at + 5])) near.set(`server ${serverName(spans[at + 2])}`, OWN);
    }
  }
  for (const task of tasks) {
    near.set(data.domains[data.tasks[task].domain].name, 2);
    near.set(`task ${baseOf(task)}`, OWN);
  }
  return near;
}

// The task of a job that is asked for; of an item those of its flow.
function tasksOf({ win, moment: { task, flow } }) {
  if (task >= 0) return [task];
  const found = new Set();
  for (let at = 0; at < win.items.length; at += ITEM)
    if (win.items[at] === flow) found.add(win.items[at + 3]);
  return [...found];
}

// By task: start, end, pcpu and job of each stretch of execution in a window.
function executions(win) {
  win.executions ||= executionsByTask(win);
  return win.executions;
}

function executionsByTask(win) {
  const found = data.tasks.map(() => []);
  win.pcpus.forEach((spans, pcpu) => {
    for (let at = 0; at < spans.length; at += SPAN)
      if (spans[at + 5] >= 0) found[spans[at + 5]].push([spans[at], spans[at + 1], pcpu, spans[at + 6]]);
  });
  found.forEach((list) => list.sort((a, b) => a[0] - b[0]));
  return found;
}

// In a comparison rows, vcpus and tasks of all runs take turns: whose one is, is told by its place.
function runName(index) {
  return data.runs.length > 1 ? `${data.runs[index % data.runs.length]}: ` : "";
}

function baseOf(index) {
  return Math.floor(index / data.runs.length);
}

function pcpuName(index) {
  return `${runName(index)}pcpu ${baseOf(index)}`;
}

function domainOf(vcpu) {
  return vcpu >= 0 ? data.domains[data.vcpus[vcpu].domain] : null;
}

function serverName(id) {
  return id === SPARE ? "spare" : id === NOBODY ? "nobody" : data.vcpus[id].name;
}

// The view from left to right: parts of which a window has the records, `win`, and the others.
function parts() {
  if (!data.overview) return [{ ...view, win: data.windows[0] }];
  const found = [];
  const add = (to, win) => {
    const { to: from } = found[found.length - 1] || { to: view.from };
    if (to > from) found.push({ from, to, win });
  };
  for (const win of data.windows) {
    if (win.end <= view.from || win.start >= view.to) continue;
    if (win.records > CROWD * (x(win.end) - x(win.start))) continue;
    add(win.start, null);
    add(Math.min(win.end, view.to), win);
  }
  add(view.to, null);
  return found;
}

// The columns of a part of the view: at which level of the series, how long (ns) each is, the
// first, and the edges of all.
function columnsIn(part) {
  const { column, levels } = data.overview;
  const pixels = x(view.from + column) - x(view.from);
  let level = 0;
  while (level < levels - 1 && pixels * 4 ** level < 2) level += 1;
  const length = column * 4 ** level;
  const first = Math.floor(part.from / length);
  const edges = [];
  for (let at = first; at <= Math.ceil(part.to / length); at += 1)
    edges.push(Math.round(x(at * length)));
  return { level, length, first, edges };
}

// The first place of a flat list whose field `offset` is not before `time`.
function firstFrom(list, stride, offset, time) {
  let low = 0;
  let high = list.length / stride;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle * stride + offset] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
