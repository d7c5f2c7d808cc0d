// SPDX-License-Identifier: BSD-2-Clause
//
// The timeline of a report: pcpus, budgets and tasks over time on one canvas.
//
// The data (report/timeline.py) is flat lists of numbers, sorted by time, so that the first thing
// to draw is found by bisection and a frame costs what is visible. Everything is redrawn on each
// change of the view. The view is a pair of instants, which lie in one of the windows of the run
// that the page holds; links anywhere on the page name such a pair ("#zoom=...") and move the
// timeline there. `showTimeline(data)` draws; called again it shows other data in the same view.
// What was drawn is said in data attributes of the canvas (shapes, from, to,
// window), for whoever tests this page.
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
  const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

  const stage = document.getElementById("stage");
  const canvas = document.getElementById("timeline");
  const tip = document.getElementById("tip");
  const rail = document.getElementById("rail");
  const thumb = document.getElementById("thumb");
  let pen = canvas.getContext("2d");
  const map = document.getElementById("map");
  const list = document.getElementById("windows");
  const filter = document.getElementById("rows");
  const view = { from: 0, to: 0 };
  let data = null;
  let marks = []; // of the windows, on the map
  let current = -1; // which window
  let win = null;
  let target = null; // the moment of the window that a link asked for
  let limit = FEW;
  let rows = [];
  let executions = [];
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
    group("pcpus", "pcpu", win.pcpus, (at) => `pcpu ${at}`, () => null);
    group("remaining budgets", "server", data.servers, (at) => data.servers[at].name,
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
    if (!target || target.task < 0) return near;
    const pcpus = new Set(executions[target.task].map((one) => one[2]));
    for (const pcpu of pcpus) {
      near.set(`pcpu ${pcpu}`, 2);
      const spans = win.pcpus[pcpu];
      for (let at = 0; at < spans.length; at += SPAN)
        if (spans[at + 2] >= 0) near.set(domainOf(spans[at + 2]).name, 1);
    }
    return near.set(data.domains[data.tasks[target.task].domain].name, 2);
  }

  function executionsByTask() {
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
    for (const row of rows) {
      if (row.kind === "head") {
        drawHead(row);
        continue;
      }
      drawLabel(row);
      pen.save();
      pen.beginPath();
      pen.rect(size.gutter, row.y, size.width - size.gutter, row.height);
      pen.clip();
      if (row.kind === "pcpu") drawPcpu(row);
      else if (row.kind === "server") drawServer(row);
      else drawTask(row);
      pen.restore();
    }
    drawSwaps();
    if (target && target.task < 0) {
      pen.save();
      pen.beginPath();
      pen.rect(size.gutter, 0, size.width - size.gutter, size.height);
      pen.clip();
      drawTarget(TOP - 4, size.height - TOP);
      pen.restore();
    }
    report();
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

  function report() {
    if (pen.svg) return; // not drawn on the page
    canvas.dataset.shapes = shapes;
    canvas.dataset.from = Math.round(view.from);
    canvas.dataset.to = Math.round(view.to);
    canvas.dataset.window = current;
    document.getElementById("span").textContent =
      `${timeText(Math.round(view.from))} to ${timeText(Math.round(view.to))}`
      + (target ? `: ${target.title}` : "");
    const whole = win.end - win.start || 1;
    thumb.style.left = `${((view.from - win.start) / whole) * 100}%`;
    thumb.style.width = `${((view.to - view.from) / whole) * 100}%`;
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

  function drawPcpu(row) {
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

  function drawServer(row) {
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

  function drawTask(row) {
    const jobs = win.jobs[row.index];
    const color = row.domain.color;
    const bottom = row.y + row.height - 6;
    pen.strokeStyle = look.line;
    line(size.gutter, bottom + 0.5, size.width, bottom + 0.5);
    const seen = visibleJobs(jobs);
    seen.reduce((drawn, at) => drawLate(jobs, at, row, drawn), -Infinity);
    let drawnTo = -1;
    for (const [start, end] of executions[row.index]) {
      if (end < view.from || x(end) < drawnTo + 0.4) continue;
      if (start > view.to) break;
      drawnTo = x(end);
      shapes += 1;
      fill(color, row.domain.pattern, x(start), bottom - 13, Math.max(x(end) - x(start), 0.7), 13);
    }
    const roomy = (size.width - size.gutter) / Math.max(1, seen.length) > 9;
    seen.forEach((at) => drawJob(jobs, at, row, bottom, roomy));
    if (target && target.task === row.index) drawTarget(row.y + 1, row.height - 3);
  }

  // A frame around what a link asked for, from release to finish.
  function drawTarget(top, height) {
    const left = Math.max(x(target.release), size.gutter - 4);
    const right = Math.min(x(target.finish), size.width + 4);
    pen.strokeStyle = look.accent;
    pen.lineWidth = 2;
    pen.strokeRect(left, top, Math.max(2, right - left), height);
    pen.lineWidth = 1;
  }

  // Jobs are sorted by release; a late one may begin before the view and end in it.
  function visibleJobs(jobs) {
    const seen = [];
    for (let at = 0; at < jobs.length; at += JOB) {
      if (jobs[at] > view.to) break;
      const last = Math.max(jobs[at + 1], jobs[at + 2] < 0 ? win.end : jobs[at + 2]);
      if (last >= view.from) seen.push(at);
    }
    return seen;
  }

  // Shades how late a job was, from where the shade of those before it ends; returns its own end.
  function drawLate(jobs, at, row, drawn) {
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

  function drawSwaps() {
    for (const [time, name] of win.swaps) {
      if (time < view.from || time > view.to) continue;
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
    if (row.kind === "pcpu") return describeSpan(win.pcpus[row.index], time);
    if (row.kind === "server") return describeServer(row.index, time);
    if (row.kind === "task") return describeJob(row, time);
    return null;
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

  function describeServer(index, time) {
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

  function describeJob(row, time) {
    const jobs = win.jobs[row.index];
    const after = firstFrom(jobs, JOB, 0, time + 1);
    const waiting = win.waiting[row.index];
    if (after === 0) return null;
    const running = executions[row.index].find(([start, end]) => start <= time && time < end);
    let at = (after - 1) * JOB;
    if (running)
      for (let other = at; other >= 0; other -= JOB) if (jobs[other + 3] === running[3]) at = other;
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

  // --- moving ----------------------------------------------------------------------------------

  let hashTimer = 0;

  // Shows a part of the current window.
  function show(from, to) {
    const whole = Math.max(win.end - win.start, LEAST_NS);
    const span = Math.min(Math.max(to - from, LEAST_NS), whole);
    view.from = Math.min(Math.max(win.start, from), win.start + whole - span);
    view.to = view.from + span;
    draw();
    clearTimeout(hashTimer);
    hashTimer = setTimeout(() => {
      const [rest] = /&.*|$/.exec(location.hash); // what a page keeps there of its own
      const hash = `#zoom=${Math.round(view.from)}ns,${Math.round(view.to)}ns${rest}`;
      history.replaceState(null, "", hash);
    }, 300);
  }

  // Shows a part of the run, in the window that holds it, or the nearest.
  function go(from, to) {
    const gap = (one) => Math.max(0, one.start - from) + Math.max(0, to - one.end);
    const gaps = data.windows.map(gap);
    enter(gaps.indexOf(Math.min(...gaps)), from, to);
    show(from, to);
  }

  function enter(index, from, to) {
    if (index !== current) {
      current = index;
      win = data.windows[index];
      executions = executionsByTask();
    }
    target = win.moments.find((one) => one.view[0] === from && one.view[1] === to) || null;
    rows = layOut();
    for (const mark of map.querySelectorAll("i")) mark.classList.toggle("now", mark === marks[index]);
    list.value = `${from},${to}`;
    if (list.selectedIndex < 0) list.value = win.view.join();
    for (const link of document.querySelectorAll(".tab"))
      link.setAttribute("aria-current", link.hash === `#zoom=${from}ns,${to}ns`);
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
    fit: () => show(win.start, win.end),
    svg: () => offer(new Blob([savedSvg()], { type: "image/svg+xml" }), "svg"),
    png: () => savedPng((blob) => offer(blob, "png")),
  };
  const KEYS = {
    "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "fit", Home: "fit",
  };

  // "#zoom=0,24us": two instants; one without a unit has the unit of the other.
  function readHash() {
    const match = /^#zoom=([\d.]+)(ns|us|ms|s)?,([\d.]+)(ns|us|ms|s)?(?:&|$)/.exec(location.hash);
    if (!match) return;
    const scale = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
    const unit = (own, other) => scale[own || other || "ns"];
    go(match[1] * unit(match[2], match[4]), match[3] * unit(match[4], match[2]));
  }

  const fingers = new Map();

  function drag(event) {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const others = [...fingers.entries()].filter(([id]) => id !== event.pointerId);
    const perPixel = (view.to - view.from) / (size.width - size.gutter);
    if (others.length === 0) {
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
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, event);
    tell(event);
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
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
    event.preventDefault();
    ACTIONS[KEYS[event.key]]();
  });
  for (const button of document.querySelectorAll("[data-do]"))
    button.addEventListener("click", () => ACTIONS[button.dataset.do]());

  function slide(event) {
    if (event.type === "pointermove" && !(event.buttons & 1)) return;
    const box = rail.getBoundingClientRect();
    const middle = ((event.clientX - box.left) / box.width) * (win.end - win.start);
    const half = (view.to - view.from) / 2;
    show(win.start + middle - half, win.start + middle + half);
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
    mark.addEventListener("click", () => go(...one.view));
    return mark;
  }

  function choicesOf(one, place) {
    const group = document.createElement("optgroup");
    group.label = `${timeText(one.start)} to ${timeText(one.end)}`;
    const choices = place === 0 ? [one, ...one.moments] : one.moments;
    group.append(...choices.map((choice) => new Option(choice.title, choice.view.join())));
    return group;
  }

  const showData = (given) => {
    const kept = data ? [view.from, view.to] : given.windows[0].view;
    data = given;
    for (const one of data.windows)
      one.points = one.points.map((line) =>
        line.length > 1 ? line : [one.start, line[0], one.end, line[0]]);
    marks = data.windows.map(markOf);
    map.replaceChildren(...marks);
    map.hidden = marks.length === 1;
    list.replaceChildren(...data.windows.map(choicesOf));
    const { pcpus } = data.windows[0];
    const folded = Math.max(pcpus.length, data.servers.length, data.tasks.length) > LONG;
    document.getElementById("rowtools").hidden = !folded;
    current = -1;
    go(...kept);
    clearTimeout(hashTimer); // the address is as it was
    readHash();
  };
  return Object.assign(showData, { timeText });
})();
