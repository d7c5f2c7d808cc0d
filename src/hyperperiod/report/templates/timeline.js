// SPDX-License-Identifier: BSD-2-Clause
//
// The timeline of a report: pcpus, budgets and tasks over time on one canvas.
//
// The data (report/timeline.py) is flat lists of numbers, sorted by time, so that the first thing
// to draw is found by bisection and a frame costs what is visible. Everything is redrawn on each
// change of the view, which is a pair of instants of the run. Where a window of the page holds its
// records they are drawn; elsewhere, and where they would be too dense, columns of the overview
// (report/overview.py) are. Links anywhere on the page name a view ("#zoom=...") and move the
// timeline there. `showTimeline(data)` draws; called again it shows other data in the same view, or,
// with true after it, in the view of the address. An instant that is gone to is an event, "instant".
// What was drawn is said in data attributes of the canvas (shapes, from, to, window, measured), for
// whoever tests this page.
"use strict";
const showTimeline = (() => {
  const SPAN = 8; // start, end, vcpu, payer, flags, task, job, until
  const JOB = 5; // release, deadline, finish, job, missed
  const NOBODY = -1;
  const SPARE = -2;
  const ALSO = 1;
  const EXTRA = 2;
  const STOLEN = 4;
  const TOP = 30;
  const HEIGHTS = { head: 24, pcpu: 36, server: 38, task: 36 };
  const LEAST_NS = 20; // the closest zoom
  const LONG = 24; // a group with more rows than this is folded ...
  const FEW = 8; // ... to this many at first, and never shows more than this:
  const MOST = 128;
  const CROWD = 20; // records in a pixel: with more, a window is drawn as columns
  const OTHERS = -1; // in the overview: domains that are not told apart, and stolen time
  const WIDE = 12; // columns of so many pixels hide what the trace has ...
  const DRAWN = 2000; // ... which can be drawn if it has no more switches than this
  const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

  const stage = document.getElementById("stage");
  const canvas = document.getElementById("timeline");
  const tip = document.getElementById("tip");
  const rail = document.getElementById("rail");
  const thumb = document.getElementById("thumb");
  let pen = canvas.getContext("2d");
  const hint = document.getElementById("hint");
  const about = document.getElementById("about");
  const list = document.getElementById("windows");
  const filter = document.getElementById("rows");
  const view = { from: 0, to: 0 };
  let data = null;
  let marks = []; // of the windows, on the rail
  let target = null; // the moment that was asked for, and its window: { moment, win }
  let misses = []; // by time
  let lastMiss = null; // the one that was shown last
  let ruler = null; // what is measured: two instants, the second of which moves
  let limit = FEW;
  let rows = [];
  let size = { width: 0, gutter: 0, narrow: false };
  let look = {};
  let shapes = 0;

  // --- what there is to draw -------------------------------------------------------------------

  function layOut() {
    const found = [];
    let y = TOP;
    const add = (kind, index, label, domain) => {
      found.push({ kind, index, label, domain, y, height: HEIGHTS[kind] });
      y += HEIGHTS[kind];
    };
    const group = (title, kind, all, label, domain) => {
      if (!all.length) return;
      const chosen = choose(all, label, domain);
      const part = chosen.length < all.length ? `: ${chosen.length} of ${all.length}` : "";
      add("head", 0, title + part);
      chosen.forEach((index) => add(kind, index, label(index), domain(index)));
    };
    group("pcpus", "pcpu", data.windows[0].pcpus, (at) => `pcpu ${at}`, () => null);
    const paid = data.overview ? " (in columns: what was paid)" : "";
    group(`remaining budgets${paid}`, "server", data.servers, (at) => data.servers[at].name,
      (at) => domainOf(data.servers[at].vcpu));
    group("tasks", "task", data.tasks, (at) => data.tasks[at].name,
      (at) => data.domains[data.tasks[at].domain]);
    return found;
  }

  // Indexes of the rows to show of a group, in order: those that match the filter, else all, else
  // as many as the limit allows, beginning with those that the target has to do with.
  function choose(all, label, domain) {
    const indexes = all.map((_, index) => index);
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matching = indexes.filter((index) => {
      const text = `${label(index)} ${(domain(index) || { name: "" }).name}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    if (words.length && (matching.length || label(0) !== "pcpu 0")) return matching.slice(0, MOST);
    if (all.length <= LONG) return indexes;
    const near = neighbours();
    const rank = (index) => near.get(domain(index) ? domain(index).name : label(index)) || 0;
    return indexes.sort((a, b) => rank(b) - rank(a) || a - b).slice(0, limit).sort((a, b) => a - b);
  }

  // What the target has to do with, by name: its own domain and its pcpus first (2), then the
  // domains that run on those pcpus (1).
  function neighbours() {
    const near = new Map();
    if (!target || target.moment.task < 0) return near;
    const { task } = target.moment;
    const pcpus = new Set(executions(target.win)[task].map((one) => one[2]));
    for (const pcpu of pcpus) {
      near.set(`pcpu ${pcpu}`, 2);
      const spans = target.win.pcpus[pcpu];
      for (let at = 0; at < spans.length; at += SPAN)
        if (spans[at + 2] >= 0) near.set(domainOf(spans[at + 2]).name, 1);
    }
    return near.set(data.domains[data.tasks[task].domain].name, 2);
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

  // --- places and texts ------------------------------------------------------------------------

  const x = (time) =>
    size.gutter + ((time - view.from) / (view.to - view.from)) * (size.width - size.gutter - 6);
  const timeAt = (pixel) =>
    view.from + ((pixel - size.gutter) / (size.width - size.gutter - 6)) * (view.to - view.from);

  const unitOf = (ns) => UNITS.find((one) => Math.abs(ns) >= one[1]) || UNITS[3];

  function timeText(ns) {
    const [unit, length] = unitOf(ns);
    return ns === 0 ? "0" : `${Number((ns / length).toFixed(Math.round(Math.log10(length))))} ${unit}`;
  }

  // All ticks of an axis have one unit and as many decimals as their distance needs.
  function tickText(ns, step) {
    const [unit, length] = unitOf(view.to);
    const decimals = Math.max(0, Math.ceil(Math.log10(length / step) - 1e-9));
    return ns === 0 ? "0" : `${(ns / length).toFixed(Math.min(decimals, 9))} ${unit}`;
  }

  function tickStep() {
    const room = view.to > 1e9 ? 128 : 96; // digits of late instants take more of it
    const wanted = ((view.to - view.from) / Math.max(1, size.width - size.gutter)) * room;
    const power = 10 ** Math.floor(Math.log10(Math.max(1, wanted)));
    return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= wanted);
  }

  function fitted(text, room) {
    if (pen.measureText(text).width <= room) return text;
    let cut = text;
    while (cut.length > 1 && pen.measureText(cut + "…").width > room) cut = cut.slice(0, -1);
    return cut.length > 1 ? cut + "…" : "";
  }

  // --- colours ---------------------------------------------------------------------------------

  function readLook() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["card", "ink", "soft", "line", "faint", "bad", "late", "accent"])
      look[name] = style.getPropertyValue(`--${name}`).trim();
    look.font = getComputedStyle(document.body).fontFamily;
    look.hatch = [1, 2].map((kind) => hatch(kind));
  }

  function hatch(kind) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const brush = tile.getContext("2d");
    brush.strokeStyle = look.card;
    brush.lineWidth = 1.4;
    brush.beginPath();
    brush.moveTo(-1, kind === 1 ? 7 : -1);
    brush.lineTo(7, kind === 1 ? -1 : 7);
    brush.stroke();
    return pen.createPattern(tile, "repeat");
  }

  function colorOf(id) {
    const domain = domainOf(id);
    return domain ? domain.color : look.soft;
  }

  function onColor(color) {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
    return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#111" : "#fff";
  }

  // --- drawing ---------------------------------------------------------------------------------

  function draw() {
    if (!data) return;
    measure();
    shapes = 0;
    pen.clearRect(0, 0, size.width, size.height);
    drawGrid();
    const drawn = parts();
    for (const row of rows) {
      if (row.kind === "head") {
        drawHead(row);
        continue;
      }
      drawLabel(row);
      for (const part of drawn) within(part, row.y, row.height, () => drawPart(row, part));
    }
    for (const { from, to, win } of drawn) {
      if (!win) continue;
      drawSwaps(win, from, to);
      pen.fillStyle = look.accent;
      if (data.overview) pen.fillRect(x(from), TOP - 5, x(to) - x(from), 2);
    }
    if (target && target.moment.task < 0)
      within(view, 0, size.height, () => drawTarget(TOP - 4, size.height - TOP));
    if (ruler) within(view, 0, size.height, drawRuler);
    report(drawn);
  }

  // Draws with nothing outside a part of the view and a stretch of the height.
  function within({ from, to }, top, height, drawIt) {
    pen.save();
    pen.beginPath();
    pen.rect(x(from), top, x(to) - x(from) + (to === view.to ? 6 : 0), height);
    pen.clip();
    drawIt();
    pen.restore();
  }

  function drawPart(row, { win, ...part }) {
    if (row.kind === "pcpu") win ? drawPcpu(row, win) : drawShares(row, columnsIn(part));
    else if (row.kind === "server") win ? drawServer(row, win) : drawPaid(row, columnsIn(part));
    else {
      if (win) drawTask(row, win);
      else drawResponses(row, columnsIn(part));
      if (target && target.moment.task === row.index) drawTarget(row.y + 1, row.height - 3);
    }
    if (row.kind === "pcpu" && win && target && target.win === win) drawPieces(row);
  }

  function measure() {
    const ratio = window.devicePixelRatio || 1;
    const last = rows[rows.length - 1];
    const width = stage.clientWidth;
    const height = last.y + last.height + 6;
    size = { width, height, narrow: width < 620, gutter: width < 620 ? 92 : 176 };
    if (pen.svg) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  function report(drawn) {
    if (pen.svg) return; // not drawn on the page
    const current = nearest(view.from, view.to);
    canvas.dataset.shapes = shapes;
    canvas.dataset.from = Math.round(view.from);
    canvas.dataset.to = Math.round(view.to);
    canvas.dataset.window = current;
    canvas.dataset.measured = ruler ? Math.round(Math.abs(ruler.to - ruler.from)) : 0;
    document.getElementById("span").textContent =
      `${timeText(Math.round(view.from))} to ${timeText(Math.round(view.to))}`
      + (target ? `: ${target.moment.title}` : "");
    const whole = data.wholeEnd || 1;
    thumb.style.left = `${(view.from / whole) * 100}%`;
    thumb.style.width = `${((view.to - view.from) / whole) * 100}%`;
    marks.forEach((mark, at) => mark.classList.toggle("now", at === current));
    const gap = drawn.some((part) => !part.win);
    hint.hidden = !gap || x(view.from + data.overview.column) - x(view.from) < WIDE
      || switchesIn(view) > DRAWN;
    if (hint.hidden) return;
    const [from, to] = [view.from, view.to].map((time) => `${Math.round(time)}ns`);
    const length = timeText(data.overview.column);
    hint.textContent = `A column is ${length} long. The trace has what was in it: hyperperiod trace draw TRACE --from ${from} --to ${to} --out part.svg`;
  }

  function switchesIn({ from, to }) {
    const { column, switches } = data.overview;
    const shown = switches.flatMap(([finest]) =>
      [...finest.slice(Math.floor(from / column), Math.ceil(to / column))]);
    return shown.reduce((sum, count) => sum + count, 0);
  }

  function font(pixels, weight = 400) {
    pen.font = `${weight} ${pixels}px ${look.font}`;
  }

  function drawGrid() {
    const step = tickStep();
    font(11.5);
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
      const at = Math.round(x(time)) + 0.5;
      pen.strokeStyle = look.line;
      pen.lineWidth = 1;
      line(at, TOP - 6, at, size.height);
      pen.fillStyle = look.soft;
      const text = tickText(time, step);
      const half = pen.measureText(text).width / 2;
      pen.fillText(text, Math.min(Math.max(at, size.gutter + half), size.width - half - 4), 13);
    }
  }

  function drawHead(row) {
    font(11.5, 600);
    pen.fillStyle = look.soft;
    pen.textAlign = "left";
    pen.textBaseline = "alphabetic";
    pen.fillText(row.label, 10, row.y + row.height - 6);
  }

  function drawLabel(row) {
    const middle = row.y + row.height / 2;
    let left = 10;
    if (row.domain) {
      pen.fillStyle = row.domain.color;
      pen.fillRect(left, middle - 5, 4, 10);
      left += 10;
    }
    font(size.narrow ? 11 : 12.5);
    pen.fillStyle = look.ink;
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    const own = row.kind === "task" && row.domain.name !== row.label;
    pen.fillText(fitted(row.label, size.gutter - left - 8), left, own ? middle - 6 : middle);
    if (own) {
      font(10.5);
      pen.fillStyle = look.soft;
      pen.fillText(fitted(row.domain.name, size.gutter - left - 8), left, middle + 8);
    }
    pen.strokeStyle = look.faint;
    line(0, row.y + row.height - 0.5, size.width, row.y + row.height - 0.5);
  }

  function drawPcpu(row, win) {
    const spans = win.pcpus[row.index];
    const top = row.y + 4;
    let drawnTo = -1;
    for (let at = firstFrom(spans, SPAN, 1, view.from) * SPAN; at < spans.length; at += SPAN) {
      if (spans[at] > view.to) break;
      const left = Math.max(x(spans[at]), size.gutter - 4);
      const right = Math.min(x(spans[at + 1]), size.width + 4);
      if (right < drawnTo + 0.4) continue;
      drawnTo = right;
      drawBlock(spans, at, left, Math.max(right - left, 0.7), top);
    }
  }

  function drawBlock(spans, at, left, width, top) {
    const [run, pay, flags, task] = [2, 3, 4, 5].map((field) => spans[at + field]);
    shapes += 1;
    if (run >= 0) {
      const color = colorOf(run);
      pen.globalAlpha = data.vcpus[run].bestEffort ? 0.45 : 1;
      fill(color, domainOf(run).pattern, left, top, width, 20);
      pen.globalAlpha = 1;
      if (width > 26) drawName(run, task, left, width, top, color);
    } else if (flags & STOLEN) {
      fill(look.line, 1, left, top, width, 20);
    } else if (pay !== NOBODY && width > 2) {
      pen.strokeStyle = look.line;
      pen.strokeRect(left + 0.5, top + 0.5, width - 1, 19);
    }
    if (pay !== NOBODY) fill(colorOf(pay), pay === SPARE ? 1 : 0, left, top + 22, width, 3);
    if (flags & ALSO && run >= 0) fill(colorOf(run), 0, left, top + 26, width, 3);
  }

  function drawName(run, task, left, width, top, color) {
    const vcpu = data.vcpus[run];
    const name = task >= 0 ? data.tasks[task].name : vcpu.name;
    const faint = vcpu.bestEffort;
    font(11, 500);
    pen.fillStyle = faint ? look.ink : onColor(color);
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    const from = Math.max(left, size.gutter);
    pen.fillText(fitted(name, left + width - from - 8), from + 4, top + 10.5);
  }

  function fill(color, pattern, left, top, width, height) {
    pen.fillStyle = color;
    pen.fillRect(left, top, width, height);
    if (pattern > 0) {
      pen.fillStyle = look.hatch[(pattern - 1) % look.hatch.length];
      pen.fillRect(left, top, width, height);
    }
  }

  function drawServer(row, win) {
    const { budget, vcpu } = data.servers[row.index];
    const points = win.points[row.index];
    const bottom = row.y + row.height - 5;
    const y = (left) => bottom - (left / budget) * (row.height - 12);
    const begin = Math.max(0, firstFrom(points, 2, 0, view.from) - 1) * 2;
    pen.beginPath();
    pen.moveTo(x(points[begin]), bottom);
    let last = x(points[begin]);
    for (let at = begin; at < points.length; at += 2) {
      last = x(points[at]);
      pen.lineTo(last, y(points[at + 1]));
      shapes += 1;
      if (points[at] > view.to) break;
    }
    pen.strokeStyle = pen.fillStyle = colorOf(vcpu);
    pen.lineWidth = 1.6;
    pen.stroke();
    pen.lineTo(last, bottom);
    pen.closePath();
    pen.globalAlpha = 0.22;
    pen.fill();
    pen.globalAlpha = 1;
  }

  function drawTask(row, win) {
    const jobs = win.jobs[row.index];
    const color = row.domain.color;
    const bottom = row.y + row.height - 6;
    pen.strokeStyle = look.line;
    line(size.gutter, bottom + 0.5, size.width, bottom + 0.5);
    const seen = visibleJobs(jobs, win);
    seen.reduce((drawn, at) => drawLate(jobs, at, row, drawn, win), -Infinity);
    let drawnTo = -1;
    for (const [start, end] of executions(win)[row.index]) {
      if (end < view.from || x(end) < drawnTo + 0.4) continue;
      if (start > view.to) break;
      drawnTo = x(end);
      shapes += 1;
      fill(color, row.domain.pattern, x(start), bottom - 13, Math.max(x(end) - x(start), 0.7), 13);
    }
    const roomy = (size.width - size.gutter) / Math.max(1, seen.length) > 9;
    seen.forEach((at) => drawJob(jobs, at, row, bottom, roomy));
  }

  // --- drawing columns -------------------------------------------------------------------------

  // Who had a pcpu: a share of each column in the colour of each domain.
  function drawShares(row, { level, length, first, edges }) {
    const bottom = row.y + row.height - 3;
    let low = edges.map(() => 0);
    for (const { domain, time } of data.overview.pcpus[row.index]) {
      const height = (at) => ((time[level][first + at] || 0) / length) * (row.height - 7);
      const high = low.map((from, at) => from + height(at));
      const { color, pattern } = domainOr(domain);
      fillColumns(edges, bottom, low, high, color, pattern);
      low = high;
    }
  }

  // A domain of the overview, or what its other numbers mean.
  function domainOr(number) {
    if (number === OTHERS) return { name: "others", color: look.soft, pattern: 0 };
    return data.domains[number] || { name: "stolen", color: look.line, pattern: 1 };
  }

  // What a server paid, as a share of what its interface gives it.
  function drawPaid(row, { level, length, first, edges }) {
    const { budget, period, vcpu } = data.servers[row.index];
    const paid = data.overview.paid[row.index][level];
    const full = (length * budget) / period;
    const height = row.height - 12;
    const high = edges.map((_, at) => Math.min(1, (paid[first + at] || 0) / full) * height);
    pen.globalAlpha = 0.55;
    fillColumns(edges, row.y + row.height - 5, edges.map(() => 0), high, colorOf(vcpu), 0);
    pen.globalAlpha = 1;
  }

  // The longest response of each column, with a line at the deadline; misses as marks above.
  function drawResponses(row, { level, first, edges }) {
    const longest = data.overview.longest[row.index];
    const misses = data.overview.misses[row.index][level];
    const { deadline } = data.tasks[row.index];
    const most = Math.max(deadline, longest[longest.length - 1][0] || 0) || 1;
    const bottom = row.y + row.height - 6;
    const y = (time) => (time / most) * (row.height - 15);
    const high = edges.map((_, at) => y(longest[level][first + at] || 0));
    fillColumns(edges, bottom, edges.map(() => 0), high, row.domain.color, row.domain.pattern);
    pen.strokeStyle = look.soft;
    pen.lineWidth = 0.7;
    const last = edges.length - 1;
    if (deadline > 0) line(edges[0], bottom - y(deadline), edges[last], bottom - y(deadline));
    pen.fillStyle = look.bad;
    for (let at = 0; at < last; at += 1)
      if (misses[first + at])
        pen.fillRect(edges[at], row.y + 2, Math.max(2, edges[at + 1] - edges[at] - 1), 6);
  }

  // Fills each column between two heights above the bottom.
  function fillColumns(edges, bottom, low, high, color, pattern) {
    const count = edges.length - 1;
    pen.beginPath();
    pen.moveTo(edges[0], bottom - low[0]);
    for (let at = 0; at < count; at += 1) {
      pen.lineTo(edges[at], bottom - high[at]);
      pen.lineTo(edges[at + 1], bottom - high[at]);
    }
    for (let at = count - 1; at >= 0; at -= 1) {
      pen.lineTo(edges[at + 1], bottom - low[at]);
      pen.lineTo(edges[at], bottom - low[at]);
    }
    pen.closePath();
    pen.fillStyle = color;
    pen.fill();
    if (pattern > 0) {
      pen.fillStyle = look.hatch[(pattern - 1) % look.hatch.length];
      pen.fill();
    }
    shapes += count;
  }

  // A frame around what a link asked for, from release to finish.
  function drawTarget(top, height) {
    const left = Math.max(x(target.moment.release), size.gutter - 4);
    const right = Math.min(x(target.moment.finish), size.width + 4);
    pen.strokeStyle = look.accent;
    pen.lineWidth = 2;
    pen.strokeRect(left, top, Math.max(2, right - left), height);
    pen.lineWidth = 1;
  }

  // Where the job that was asked for had this pcpu, and in a band how long it was there.
  function drawPieces(row) {
    const { task, job } = target.moment;
    if (task < 0) return;
    const pieces = executions(target.win)[task]
      .filter((one) => one[2] === row.index && one[3] === job);
    if (!pieces.length) return;
    pen.strokeStyle = look.ink;
    pen.lineWidth = 2;
    for (const [start, end] of pieces)
      pen.strokeRect(x(start), row.y + 3, Math.max(2, x(end) - x(start)), 22);
    drawTarget(row.y + 1, row.height - 3);
  }

  // The length of what is measured, between two lines.
  function drawRuler() {
    const [left, right] = [ruler.from, ruler.to].map(x).sort((a, b) => a - b);
    pen.fillStyle = pen.strokeStyle = look.accent;
    pen.globalAlpha = 0.13;
    pen.fillRect(left, 0, right - left, size.height);
    pen.globalAlpha = 1;
    pen.lineWidth = 1.5;
    line(left, 0, left, size.height);
    line(right, 0, right, size.height);
    if (ruler.from === ruler.to) return;
    const text = timeText(Math.round(Math.abs(ruler.to - ruler.from)));
    font(12.5, 600);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const half = pen.measureText(text).width / 2 + 6;
    const [least, most] = [size.gutter + half, size.width - half - 6];
    const middle = Math.min(Math.max((left + right) / 2, least), most);
    pen.fillStyle = look.card;
    pen.fillRect(middle - half, TOP - 2, half * 2, 20);
    pen.fillStyle = look.ink;
    pen.fillText(text, middle, TOP + 8);
  }

  // Jobs are sorted by release; a late one may begin before the view and end in it.
  function visibleJobs(jobs, win) {
    const seen = [];
    for (let at = 0; at < jobs.length; at += JOB) {
      if (jobs[at] > view.to) break;
      const last = Math.max(jobs[at + 1], jobs[at + 2] < 0 ? win.end : jobs[at + 2]);
      if (last >= view.from) seen.push(at);
    }
    return seen;
  }

  // Shades how late a job was, from where the shade of those before it ends; returns its own end.
  function drawLate(jobs, at, row, drawn, win) {
    if (!jobs[at + 4]) return drawn;
    const from = Math.max(drawn, x(jobs[at + 1]));
    const to = x(jobs[at + 2] < 0 ? win.end : jobs[at + 2]);
    pen.fillStyle = look.late;
    if (to > drawn) pen.fillRect(from, row.y + 2, Math.max(1.5, to - from), row.height - 8);
    return Math.max(drawn, to);
  }

  function drawJob(jobs, at, row, bottom, roomy) {
    const [release, deadline, finish, , missed] = jobs.slice(at, at + JOB);
    const top = row.y + 4;
    shapes += 1;
    pen.lineWidth = 1;
    pen.strokeStyle = pen.fillStyle = look.ink;
    if (!roomy) pen.globalAlpha = 0.35;
    const here = Math.round(x(release)) + 0.5;
    line(here, roomy ? top : bottom - 17, here, bottom);
    if (roomy) arrowhead(here, top - 1, 6);
    if (roomy && deadline > 0) {
      const there = Math.round(x(deadline)) + 0.5;
      line(there, top + 4, there, bottom);
      arrowhead(there, bottom + 1, -6);
    }
    if (roomy && finish >= 0 && !missed) ring(x(finish), bottom);
    pen.globalAlpha = 1;
    if (missed) cross(x(deadline), row.y + row.height / 2 - 2);
  }

  function drawSwaps(win, from, to) {
    for (const [time, name] of win.swaps) {
      if (time < from || time > to) continue;
      shapes += 1;
      pen.strokeStyle = pen.fillStyle = look.accent;
      pen.lineWidth = 2;
      line(x(time), TOP - 8, x(time), size.height);
      font(11, 600);
      pen.textAlign = "left";
      pen.textBaseline = "middle";
      pen.fillText(`swap to ${name}`, x(time) + 5, TOP + 10);
    }
  }

  function line(x1, y1, x2, y2) {
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.lineTo(x2, y2);
    pen.stroke();
  }

  // Its tip is at `tip`, its other end `length` below, or above if that is negative.
  function arrowhead(at, tip, length) {
    pen.beginPath();
    pen.moveTo(at, tip);
    pen.lineTo(at - 3.2, tip + length);
    pen.lineTo(at + 3.2, tip + length);
    pen.fill();
  }

  function ring(at, bottom) {
    pen.beginPath();
    pen.arc(at, bottom, 3, 0, 2 * Math.PI);
    pen.fillStyle = look.card;
    pen.fill();
    pen.stroke();
  }

  function cross(at, middle) {
    pen.strokeStyle = look.bad;
    pen.lineWidth = 2.4;
    line(at - 5, middle - 5, at + 5, middle + 5);
    line(at - 5, middle + 5, at + 5, middle - 5);
  }

  // --- the picture to keep ---------------------------------------------------------------------

  const PAINT = ["fillStyle", "strokeStyle", "lineWidth", "globalAlpha", "font", "textAlign", "textBaseline"];

  // What the drawing code asks of a canvas, written down as SVG.
  function svgPen(canvasPen) {
    const parts = [];
    const kept = [];
    let path = "";
    let clip = "";
    let clips = 0;
    const tidy = (value) => Number(value.toFixed(2));
    const plain = (text) => String(text).replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
    const paint = (style) =>
      look.hatch.includes(style) ? `url(#hatch${look.hatch.indexOf(style)})` : style;
    const put = (shape, filled) => parts.push(`<${shape} ${filled
      ? `fill="${paint(own.fillStyle)}"`
      : `fill="none" stroke="${own.strokeStyle}" stroke-width="${own.lineWidth}"`} opacity="${
      own.globalAlpha}"${clip && ` clip-path="url(#${clip})"`}/>`);
    const box = (left, top, width, height) =>
      `rect x="${tidy(left)}" y="${tidy(top)}" width="${tidy(width)}" height="${tidy(height)}"`;
    const own = {
      ...Object.fromEntries(PAINT.map((name) => [name, canvasPen[name]])),
      globalAlpha: 1,
      clearRect() {},
      fillRect: (...sides) => put(box(...sides), true),
      strokeRect: (...sides) => put(box(...sides), false),
      beginPath() { path = ""; },
      moveTo(left, top) { path += `M${tidy(left)} ${tidy(top)}`; },
      lineTo(left, top) { path += `L${tidy(left)} ${tidy(top)}`; },
      closePath() { path += "Z"; },
      arc(left, top, radius) {
        path += `M${tidy(left - radius)} ${tidy(top)}a${radius} ${radius} 0 1 0 ${2 * radius} 0`
          + `a${radius} ${radius} 0 1 0 ${-2 * radius} 0Z`;
      },
      stroke: () => put(`path d="${path}"`, false),
      fill: () => put(`path d="${path}"`, true),
      rect(...sides) { path = box(...sides); },
      clip() {
        clips += 1;
        clip = `clip${clips}`;
        parts.push(`<clipPath id="${clip}"><${path}/></clipPath>`);
      },
      save: () => kept.push(clip),
      restore() { clip = kept.pop(); },
      measureText(text) {
        canvasPen.font = own.font;
        return canvasPen.measureText(text);
      },
      fillText(text, left, top) {
        const anchor = own.textAlign === "center" ? "middle" : "start";
        const line = own.textBaseline === "middle" ? "central" : "auto";
        parts.push(`<text x="${tidy(left)}" y="${tidy(top)}" fill="${own.fillStyle}" text-anchor="${
          anchor}" dominant-baseline="${line}" style="font: ${plain(own.font)}"${
          clip && ` clip-path="url(#${clip})"`}>${plain(text)}</text>`);
      },
      svg() {
        const hatches = [[-1, 7, 7, -1], [-1, -1, 7, 7]].map((ends, at) =>
          `<pattern id="hatch${at}" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M${
            ends[0]} ${ends[1]}L${ends[2]} ${ends[3]}" stroke="${look.card}" stroke-width="1.4"/></pattern>`);
        const { width, height } = size;
        return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${
          width}" height="${height}"><title>${plain(document.title)}</title>${hatches.join("")}<rect`
          + ` width="100%" height="100%" fill="${look.card}"/>${parts.join("\n")}</svg>\n`;
      },
    };
    return own;
  }

  function savedSvg() {
    const canvasPen = pen;
    pen = svgPen(canvasPen);
    draw();
    const text = pen.svg();
    pen = canvasPen;
    draw();
    return text;
  }

  // The canvas on its card: by itself it is transparent.
  function savedPng(take) {
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const brush = copy.getContext("2d");
    brush.fillStyle = look.card;
    brush.fillRect(0, 0, copy.width, copy.height);
    brush.drawImage(canvas, 0, 0);
    copy.toBlob(take);
  }

  function offer(blob, ending) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `timeline.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // --- the tooltip -----------------------------------------------------------------------------

  function tell(event) {
    const box = canvas.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    const row = rows.find((one) => top >= one.y && top < one.y + one.height);
    const lines = row && left > size.gutter ? describe(row, timeAt(left)) : null;
    tip.hidden = !lines;
    if (!lines) return;
    tip.replaceChildren(...lines.map((text, at) => {
      const element = document.createElement(at === 0 ? "b" : "div");
      element.textContent = text;
      return element;
    }));
    const room = size.width - tip.offsetWidth - 6;
    tip.style.left = `${Math.max(4, Math.min(left + 14, room))}px`;
    tip.style.top = `${Math.min(top + 16, size.height - tip.offsetHeight - 4)}px`;
  }

  function describe(row, time) {
    const part = parts().find(({ to }) => time < to);
    if (!part || row.kind === "head") return null;
    if (!part.win) return describeColumn(row, time, columnsIn(part));
    if (row.kind === "pcpu") return describeSpan(part.win.pcpus[row.index], time);
    if (row.kind === "server") return describeServer(row.index, time, part.win);
    return describeJob(row, time, part.win);
  }

  function describeColumn(row, time, { level, length }) {
    const at = Math.floor(time / length);
    const [start, end] = [at * length, Math.min((at + 1) * length, data.wholeEnd)];
    const when = spanText(start, end);
    const of = (series) => series[level][at] || 0;
    const count = (series) => `${of(series) && series.about}${Math.round(of(series))}`;
    const percent = (share) => (share > 0 && share < 0.01 ? "under 1 %" : `${Math.round(share * 100)} %`);
    const { pcpus, switches, paid, misses, longest } = data.overview;
    if (row.kind === "server") {
      const { budget, period } = data.servers[row.index];
      return [row.label, `paid ${percent(of(paid[row.index]) / (end - start))} of this time`,
        `its budget is ${percent(budget / period)}`, when];
    }
    if (row.kind === "task") {
      const late = misses[row.index];
      const response = of(longest[row.index]);
      const most = response === data.tasks[row.index].deadline ? response : roundedUp(response);
      return [`${row.domain.name} · ${row.label}`,
        of(late) ? `✗ ${count(late)} missed` : "no deadline missed",
        response ? `longest response at most ${timeText(most)}` : "no job finished", when];
    }
    const shares = pcpus[row.index].filter((one) => of(one.time)).map(({ domain, time: series }) =>
      `${domainOr(domain).name}: ${percent(of(series) / (end - start))}`);
    return [row.label, ...shares, `${count(switches[row.index])} switches`, when];
  }

  // To three digits: steps of responses are longer.
  function roundedUp(ns) {
    const step = 10 ** Math.max(0, Math.floor(Math.log10(ns)) - 2);
    return Math.ceil(ns / step) * step;
  }

  function describeSpan(spans, time) {
    const at = firstFrom(spans, SPAN, 1, time) * SPAN;
    if (at >= spans.length || spans[at] > time) return null;
    const [start, end, run, pay, flags, task, job, until] = spans.slice(at, at + SPAN);
    if (flags & STOLEN) return ["stolen: not there to be granted", spanText(start, end)];
    const payers = [pay, flags & ALSO ? run : NOBODY].filter((one) => one !== NOBODY);
    const lines = [run >= 0 ? `${data.vcpus[run].name} runs` : "idle"];
    if (task >= 0) lines.push(`${data.tasks[task].name}, job ${job}`);
    lines.push(`pays: ${[...new Set(payers)].map(serverName).join(" and ") || "nobody"}`);
    if (flags & EXTRA) lines.push("on extra time");
    lines.push(spanText(start, end));
    lines.push(until >= 0 ? `granted until ${timeText(until)}` : "granted without end");
    return lines;
  }

  function spanText(start, end) {
    return `${timeText(start)} to ${timeText(end)} (${timeText(end - start)})`;
  }

  function describeServer(index, time, win) {
    const { budget, name } = data.servers[index];
    const points = win.points[index];
    const next = firstFrom(points, 2, 0, time) * 2;
    const at = Math.max(0, next - 2);
    const span = points[next] - points[at];
    const share = span > 0 ? (time - points[at]) / span : 0;
    const left = next < points.length
      ? points[at + 1] + share * (points[next + 1] - points[at + 1])
      : points[points.length - 1];
    return [name, `${timeText(Math.round(left))} of ${timeText(budget)} left`,
      `at ${timeText(Math.round(time))}`];
  }

  function runningIn(task, time, win) {
    return executions(win)[task].find(([start, end]) => start <= time && time < end);
  }

  // The place of the job of a task that runs at an instant, or was released last; else negative.
  function jobAt(task, time, win) {
    const jobs = win.jobs[task];
    const running = runningIn(task, time, win);
    let at = (firstFrom(jobs, JOB, 0, time + 1) - 1) * JOB;
    if (running)
      for (let other = at; other >= 0; other -= JOB) if (jobs[other + 3] === running[3]) at = other;
    return at;
  }

  function describeJob(row, time, win) {
    const jobs = win.jobs[row.index];
    const waiting = win.waiting[row.index];
    const running = runningIn(row.index, time, win);
    const at = jobAt(row.index, time, win);
    if (at < 0) return null;
    const [release, deadline, finish, job, missed] = jobs.slice(at, at + JOB);
    const lines = [`${row.domain.name} · ${row.label}, job ${job}`, `released ${timeText(release)}`];
    if (deadline > 0) lines.push(`deadline ${timeText(deadline)}`);
    lines.push(finish >= 0
      ? `finished ${timeText(finish)}, after ${timeText(finish - release)}`
      : "not finished in what is shown");
    if (missed) lines.push("✗ missed its deadline");
    if (running) lines.push(`running on pcpu ${running[2]}`);
    if (waiting) lines.push(`${waiting} more jobs were waiting when this window began`);
    return lines;
  }

  // --- jobs, misses and events -----------------------------------------------------------------

  function taskName(task) {
    const { domain, name } = data.tasks[task];
    return `${data.domains[domain].name}.${name}`;
  }

  function momentOf(win, task, at) {
    const [release, , finish, job] = win.jobs[task].slice(at, at + JOB);
    const title = `${taskName(task)}, job ${job}${finish < 0 ? ", not finished here" : ""}`;
    return { title, task, job, release, finish: finish < 0 ? win.end : finish };
  }

  // Who ran on the pcpus of a job from its release to its finish, those that ran longest first.
  function tellJob({ win, moment }) {
    const { task, job, release, finish, title } = moment;
    const pieces = executions(win)[task].filter((one) => one[3] === job);
    const ran = new Map();
    const [from, to] = [Math.max(release, win.start), Math.min(finish, win.end)];
    const inside = (start, end) => Math.min(end, to) - Math.max(start, from);
    for (const pcpu of new Set(pieces.map((one) => one[2]))) {
      const spans = win.pcpus[pcpu];
      for (let at = firstFrom(spans, SPAN, 1, from + 1) * SPAN; spans[at] < to; at += SPAN) {
        if (spans[at + 5] === task && spans[at + 6] === job) continue;
        const length = inside(spans[at], spans[at + 1]);
        const name = spans[at + 5] === task ? "its other jobs" : whoRuns(spans, at);
        ran.set(name, (ran.get(name) || 0) + length);
      }
    }
    const own = pieces.reduce((sum, [start, end]) => sum + inside(start, end), 0);
    const others = [...ran].sort((a, b) => b[1] - a[1]).slice(0, 6)
      .map(([name, length]) => `${name} ${timeText(length)}`);
    const whole = release >= win.start && finish <= win.end;
    return `${title}: ${timeText(finish - release)} from ${timeText(release)} on. `
      + `${whole ? "It" : "In this window it"} ran ${timeText(own)} in ${pieces.length} `
      + (pieces.length === 1 ? "piece" : "pieces")
      + (others.length ? `; meanwhile on its pcpu: ${others.join(", ")}.` : ".");
  }

  function whoRuns(spans, at) {
    if (spans[at + 4] & STOLEN) return "stolen";
    if (spans[at + 5] >= 0) return taskName(spans[at + 5]);
    return spans[at + 2] >= 0 ? data.vcpus[spans[at + 2]].name : "idle";
  }

  function say(text) {
    about.textContent = text || "";
    about.hidden = !text;
  }

  function aim(win, moment) {
    target = moment ? { win, moment } : null;
    say(moment && moment.task >= 0 ? tellJob(target) : win ? "" : moment?.title);
  }

  // Where deadlines were missed, by time: a job in a window, elsewhere a column, which also has what
  // the windows in it leave out.
  function findMisses() {
    const found = [];
    const { column, misses: all } = data.overview || { misses: [] };
    const known = data.tasks.map(() => new Map());
    for (const win of data.windows)
      win.jobs.forEach((jobs, task) => {
        for (let at = 0; at < jobs.length; at += JOB) {
          const time = jobs[at + 1];
          if (!jobs[at + 4] || time < win.start || time > win.end) continue;
          found.push({ time, win, moment: momentOf(win, task, at) });
          const place = Math.floor(time / column);
          known[task].set(place, (known[task].get(place) || 0) + 1);
        }
      });
    const late = new Map();
    all.forEach((series, task) => series[0].forEach((count, at) => {
      const rest = count - (known[task].get(at) || 0);
      if (rest < series.step) return;
      late.set(at, [...(late.get(at) || []), `${series.about}${Math.round(rest)} of ${taskName(task)}`]);
    }));
    for (const [at, counts] of late) {
      const [release, finish] = [at * column, Math.min((at + 1) * column, data.wholeEnd)];
      const title = `deadlines missed in the column from ${timeText(release)}: ${counts.join(", ")}`;
      found.push({ time: (release + finish) / 2, win: null, moment: { title, task: -1, release, finish } });
    }
    return found.sort((a, b) => a.time - b.time);
  }

  // The one after the miss that was shown last or, if that is out of view, the first in the view or
  // after it; with a step of -1 the same backward.
  function toMiss(step) {
    const seen = lastMiss && lastMiss.time >= view.from && lastMiss.time <= view.to;
    const times = misses.map((one) => one.time);
    const first = firstFrom(times, 1, 0, step > 0 ? view.from : view.to) - (step > 0 ? 0 : 1);
    const next = misses[seen ? misses.indexOf(lastMiss) + step : first];
    if (next) showMiss(next);
  }

  // The worst may have its deadline before the window around its end: moments have it too.
  function toWorst() {
    const own = data.windows.flatMap((win) => win.moments.map((moment) => ({ win, moment })));
    const excess = ({ moment }) => {
      const { deadline } = data.tasks[moment.task] || {};
      return deadline ? (moment.finish - moment.release) / deadline : 0;
    };
    const worst = [...misses, ...own].reduce((a, b) => (excess(b) > excess(a) ? b : a));
    if ("time" in worst) showMiss(worst);
    else go(...worst.moment.view);
  }

  function showMiss(miss) {
    const { time, win, moment } = miss;
    lastMiss = miss;
    list.value = "";
    aim(win, moment);
    rows = layOut();
    const half = win ? Math.max(time - moment.release, moment.finish - time) * 1.5
      : data.overview.column * 50;
    show(time - half, time + half);
  }

  // What the page knows to happen, by time: pairs of an instant and what it is.
  function events(win) {
    const found = win.swaps.map(([time, name]) => [time, `swap to ${name}`]);
    win.pcpus.forEach((spans, pcpu) => {
      for (let at = 0; at < spans.length; at += SPAN)
        found.push([spans[at], `pcpu ${pcpu}: ${whoRuns(spans, at)}`]);
    });
    win.jobs.forEach((jobs, task) => {
      for (let at = 0; at < jobs.length; at += JOB)
        ["release", "deadline", "completion"].forEach((what, field) => {
          if (field === 0 || jobs[at + field] > 0)
            found.push([jobs[at + field], `${what} of ${taskName(task)}`]);
        });
    });
    return found.filter(([time]) => time >= win.start && time <= win.end)
      .sort((a, b) => a[0] - b[0]);
  }

  // Goes to the instant before or after in which something happens, and says what.
  function toEvent(step) {
    data.events ||= data.windows.flatMap(events);
    const seen = ruler && ruler.to >= view.from && ruler.to <= view.to;
    const from = seen ? ruler.to : step > 0 ? view.from - 1 : view.to + 1;
    const times = data.events.map((one) => one[0]);
    const place = step > 0 ? firstFrom(times, 1, 0, from + 1) : firstFrom(times, 1, 0, from) - 1;
    if (!(place in times)) return;
    const to = times[place];
    ruler = { from: seen ? from : to, to };
    const what = data.events.filter((one) => one[0] === to).map((one) => one[1]);
    const length = to === ruler.from ? "" : ` (${timeText(Math.abs(to - from))} from the last)`;
    say(`${timeText(to)}${length}: ${what.slice(0, 6).join(", ")}`);
    const half = (view.to - view.from) / 2;
    if (to < view.from || to > view.to) show(to - half, to + half);
    else draw();
    canvas.dispatchEvent(new CustomEvent("instant", { detail: to }));
  }

  // A click on a job frames it; one elsewhere ends that, and what is measured.
  function press(event) {
    const box = canvas.getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    const row = rows.find((one) => top >= one.y && top < one.y + one.height);
    const time = timeAt(left);
    const part = parts().find(({ to }) => time < to);
    const isJob = row && row.kind === "task" && left > size.gutter && part && part.win;
    const at = isJob ? jobAt(row.index, time, part.win) : -1;
    ruler = null;
    aim(part && part.win, at < 0 ? null : momentOf(part.win, row.index, at));
    draw();
  }

  // --- moving ----------------------------------------------------------------------------------

  let hashTimer = 0;

  // Shows a part of the run.
  function show(from, to) {
    const whole = Math.max(data.wholeEnd, LEAST_NS);
    const span = Math.min(Math.max(to - from, LEAST_NS), whole);
    view.from = Math.min(Math.max(0, from), whole - span);
    view.to = view.from + span;
    draw();
    clearTimeout(hashTimer);
    hashTimer = setTimeout(() => {
      const [rest] = /&.*|$/.exec(location.hash); // what a page keeps there of its own
      const hash = `#zoom=${Math.round(view.from)}ns,${Math.round(view.to)}ns${rest}`;
      history.replaceState(null, "", hash);
    }, 300);
  }

  // The window that holds a part of the run, or the nearest.
  function nearest(from, to) {
    const gap = (one) => Math.max(0, one.start - from) + Math.max(0, to - one.end);
    const gaps = data.windows.map(gap);
    return gaps.indexOf(Math.min(...gaps));
  }

  // Shows a part of the run and frames the moment that has it for its view.
  function go(...given) {
    const [from, to] = given.sort((a, b) => a - b);
    const shown = (one) => one.view[0] === from && one.view[1] === to;
    const win = data.windows.find((one) => one.moments.some(shown)) || data.windows[nearest(from, to)];
    aim(win, win.moments.find(shown));
    rows = layOut();
    list.value = `${from},${to}`;
    if (list.selectedIndex < 0) list.value = "";
    for (const link of document.querySelectorAll(".tab"))
      link.setAttribute("aria-current", link.hash === `#zoom=${from}ns,${to}ns`);
    show(from, to);
  }

  function zoom(factor, around = (view.from + view.to) / 2) {
    show(around - (around - view.from) * factor, around + (view.to - around) * factor);
  }

  function pan(share) {
    const step = (view.to - view.from) * share;
    show(view.from + step, view.to + step);
  }

  const ACTIONS = {
    in: () => zoom(0.5),
    out: () => zoom(2),
    left: () => pan(-0.25),
    right: () => pan(0.25),
    fit: () => show(0, data.wholeEnd),
    before: () => toMiss(-1),
    next: () => toMiss(1),
    worst: toWorst,
    back: () => toEvent(-1),
    on: () => toEvent(1),
    none: () => {
      ruler = null;
      aim(null, null);
      draw();
    },
    svg: () => offer(new Blob([savedSvg()], { type: "image/svg+xml" }), "svg"),
    png: () => savedPng((blob) => offer(blob, "png")),
  };
  const KEYS = {
    "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "fit", Home: "fit",
    p: "before", n: "next", w: "worst", Escape: "none",
    "shift ArrowLeft": "back", "shift ArrowRight": "on",
  };

  // "#zoom=0,24us": two instants; one without a unit has the unit of the other.
  function readHash() {
    const match = /^#zoom=(\d*\.?\d+)(ns|us|ms|s)?,(\d*\.?\d+)(ns|us|ms|s)?(?:&|$)/.exec(location.hash);
    if (!match) return;
    const scale = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
    const unit = (own, other) => scale[own || other || "ns"];
    go(match[1] * unit(match[2], match[4]), match[3] * unit(match[4], match[2]));
  }

  const fingers = new Map();
  const STEADY = 4; // pixels: a click may move by less
  let moved = false; // since a finger or button went down

  function drag(event) {
    const before = fingers.get(event.pointerId);
    if (!before || (!moved && Math.abs(event.clientX - before.clientX) < STEADY)) return;
    moved = true;
    const others = [...fingers.entries()].filter(([id]) => id !== event.pointerId);
    const perPixel = (view.to - view.from) / (size.width - size.gutter);
    if (event.shiftKey && ruler) {
      ruler.to = timeAt(event.clientX - canvas.getBoundingClientRect().left);
      draw();
    } else if (others.length === 0) {
      const step = (before.clientX - event.clientX) * perPixel;
      show(view.from + step, view.to + step);
    } else {
      const fixed = others[0][1].clientX;
      const box = canvas.getBoundingClientRect();
      const apart = Math.max(8, Math.abs(event.clientX - fixed));
      zoom(Math.max(8, Math.abs(before.clientX - fixed)) / apart, timeAt(fixed - box.left));
    }
    fingers.set(event.pointerId, event);
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
    moved = false;
    if (event.shiftKey) {
      const from = timeAt(event.clientX - canvas.getBoundingClientRect().left);
      ruler = { from, to: from };
    }
    tell(event);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!event.button && !moved && !event.shiftKey) press(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    drag(event);
    tell(event);
  });
  for (const name of ["pointerup", "pointercancel"])
    canvas.addEventListener(name, (event) => fingers.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("wheel", (event) => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!sideways && !event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    if (sideways) pan(event.deltaX / size.width);
    else {
      const around = timeAt(event.clientX - canvas.getBoundingClientRect().left);
      zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.006), around);
    }
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const arrow = event.shiftKey && event.key.startsWith("Arrow");
    const action = KEYS[arrow ? `shift ${event.key}` : event.key];
    if (event.ctrlKey || event.metaKey || event.altKey || !action) return;
    event.preventDefault();
    ACTIONS[action]();
  });
  for (const button of document.querySelectorAll("[data-do]"))
    button.addEventListener("click", () => ACTIONS[button.dataset.do]());

  function slide(event) {
    if (event.type === "pointermove" && !(event.buttons & 1)) return;
    const box = rail.getBoundingClientRect();
    const middle = ((event.clientX - box.left) / box.width) * data.wholeEnd;
    const half = (view.to - view.from) / 2;
    show(middle - half, middle + half);
  }
  rail.addEventListener("pointerdown", (event) => {
    rail.setPointerCapture(event.pointerId);
    slide(event);
  });
  rail.addEventListener("pointermove", slide);

  // --- the windows of the run ------------------------------------------------------------------

  list.addEventListener("change", () => go(...list.value.split(",").map(Number)));

  // The address may be the same as before; then nothing else says that a link was followed.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#zoom="]');
    if (!link) return;
    event.preventDefault();
    history.pushState(null, "", link.hash);
    readHash();
    if (!link.classList.contains("tab")) {
      document.getElementById("timeline-title").scrollIntoView();
      canvas.focus({ preventScroll: true });
    }
  });

  const relaid = () => {
    rows = layOut();
    draw();
  };
  filter.addEventListener("input", relaid);
  document.getElementById("more").addEventListener("click", (event) => {
    limit = Math.min(MOST, limit * 4);
    event.target.disabled = limit === MOST;
    relaid();
  });

  // --- the beginning ---------------------------------------------------------------------------

  window.addEventListener("hashchange", readHash);
  const relook = () => {
    readLook();
    draw();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", relook);
  // On paper everything is light, and a canvas must be drawn so before.
  for (const [event, printing] of [["beforeprint", true], ["afterprint", false]])
    window.addEventListener(event, () => {
      document.documentElement.classList.toggle("print", printing);
      relook();
    });
  new ResizeObserver(() => { if (stage.clientWidth !== size.width) draw(); }).observe(stage);
  readLook();

  // --- the data --------------------------------------------------------------------------------

  function markOf(one) {
    const mark = document.createElement("i");
    mark.style.left = `${(one.start / (data.wholeEnd || 1)) * 100}%`;
    mark.style.width = `${((one.end - one.start) / (data.wholeEnd || 1)) * 100}%`;
    mark.title = `${one.title}: ${timeText(one.start)} to ${timeText(one.end)}`;
    return mark;
  }

  function choicesOf(one, place) {
    const group = document.createElement("optgroup");
    group.label = `${timeText(one.start)} to ${timeText(one.end)}`;
    const choices = place === 0 ? [one, ...one.moments] : one.moments;
    group.append(...choices.map((choice) => new Option(choice.title, choice.view.join())));
    return group;
  }

  // A series at every level: its numbers, then those of four columns joined to one, and so on.
  function leveled({ bytes }, value, join) {
    const text = atob(bytes);
    const finest = new Float64Array(text.length);
    for (let at = 0; at < text.length; at += 1) finest[at] = value(text.charCodeAt(at));
    const found = [finest];
    for (let level = 1; level < data.overview.levels; level += 1) {
      const fine = found[level - 1];
      const wide = new Float64Array(Math.ceil(fine.length / 4));
      for (let at = 0; at < fine.length; at += 1) wide[at >> 2] = join(wide[at >> 2], fine[at]);
      found.push(wide);
    }
    return found;
  }

  function unpack(overview) {
    const sum = (series) => {
      const about = series.scale > 255 ? "about " : ""; // numbers up to 255 are exact
      const step = series.scale / 255;
      return Object.assign(leveled(series, (byte) => byte * step, (a, b) => a + b), { about, step });
    };
    const longest = (series) => {
      const { scale, base } = series;
      const value = (byte) => byte && scale * 2 ** ((byte - base) / overview.octave);
      return leveled(series, value, Math.max);
    };
    overview.levels = 1 + Math.ceil(Math.log2(data.wholeEnd / overview.column) / 2);
    overview.pcpus = overview.pcpus.map((shares) =>
      shares.map(({ domain, time }) => ({ domain, time: sum(time) })));
    for (const name of ["switches", "paid", "misses"]) overview[name] = overview[name].map(sum);
    overview.longest = overview.longest.map(longest);
  }

  const showData = (given, isNew = !data) => {
    const first = isNew ? given.windows[0].view : [view.from, view.to];
    data = given;
    for (const one of data.windows)
      one.points = one.points.map((line) =>
        line.length > 1 ? line : [one.start, line[0], one.end, line[0]]);
    if (data.overview && !data.overview.levels) unpack(data.overview);
    marks = data.overview ? data.windows.map(markOf) : [];
    rail.replaceChildren(...marks, thumb);
    const elsewhere = Object.assign(new Option("choose a moment", ""), { disabled: true });
    list.replaceChildren(elsewhere, ...data.windows.map(choicesOf));
    const { pcpus } = data.windows[0];
    const folded = Math.max(pcpus.length, data.servers.length, data.tasks.length) > LONG;
    document.getElementById("rowtools").hidden = !folded;
    misses = findMisses();
    lastMiss = null;
    ruler = null;
    for (const button of document.querySelectorAll("[data-do]"))
      if (["before", "next", "worst"].includes(button.dataset.do))
        button.disabled = misses.length === 0;
    go(...first);
    if (!isNew) return;
    clearTimeout(hashTimer); // the address is as it was
    readHash();
  };
  return Object.assign(showData, { timeText });
})();
