// SPDX-License-Identifier: BSD-2-Clause
//
// Draws the view: rows of records from the windows of the page, frames and what is measured.

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
    if (win.items.length) within({ from, to }, 0, size.height, () => drawLegs(win, from, to));
    pen.fillStyle = look.accent;
    if (data.overview) pen.fillRect(x(from), TOP - 5, x(to) - x(from), 2);
  }
  if (target && target.moment.task < 0 && target.moment.pcpu === undefined)
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
  if (row.kind === "pcpu" && target && target.moment.pcpu === row.index)
    drawTarget(row.y + 1, row.height - 3);
  if (row.kind === "pcpu" && win && target && target.win === win) drawPieces(row);
  if (row.kind !== "server" && win) drawDifferences(row, differences(win)[row.kind][row.index]);
}

function measure() {
  const ratio = window.devicePixelRatio || 1;
  const last = rows[rows.length - 1];
  const width = stage.clientWidth;
  const height = last.y + last.height + 6;
  font(10.5);
  const widest = Math.max(...data.runs.map((name) => pen.measureText(name).width)) + 32;
  const gutter = width < 620 ? 92 : Math.min(Math.max(176, widest), 280);
  size = { width, height, narrow: width < 620, gutter };
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
  const own = data.runs.length > 1 ? "A trace of a run by itself" : "The trace";
  hint.textContent = `A column is ${length} long. ${own} has what was in it: hyperperiod trace draw TRACE --from ${from} --to ${to} --out part.svg`;
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
  const own = row.kind === "task" && row.domain.name !== row.name ? row.domain.name : "";
  const below = [row.run, own].filter(Boolean).join(" · ");
  pen.fillText(fitted(row.name, size.gutter - left - 8), left, below ? middle - 6 : middle);
  if (below) {
    font(10.5);
    pen.fillStyle = look.soft;
    pen.fillText(fitted(below, size.gutter - left - 8), left, middle + 8);
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

// A frame around what a link asked for, from release to finish.
function drawTarget(top, height) {
  const left = Math.max(x(target.moment.release), size.gutter - 4);
  const right = Math.min(x(target.moment.finish), size.width + 4);
  pen.strokeStyle = look.accent;
  pen.lineWidth = 2;
  pen.strokeRect(left, top, Math.max(2, right - left), height);
  pen.lineWidth = 1;
}

// Where the job that was asked for had this pcpu, and the one that is looked at of those that held
// it up; in a band how long the job was there.
function drawPieces(row) {
  const { task, job } = target.moment;
  if (task < 0) return;
  const pieces = executions(target.win)[task]
    .filter((one) => one[2] === row.index && one[3] === job);
  if (!pieces.length) return;
  const held = (target.held || []).filter((one) => one[2] === row.index);
  pen.lineWidth = 2;
  for (const [color, spans] of [[look.ink, pieces], [look.bad, held]]) {
    pen.strokeStyle = color;
    for (const [start, end] of spans)
      pen.strokeRect(x(start), row.y + 3, Math.max(2, x(end) - x(start)), 22);
  }
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
