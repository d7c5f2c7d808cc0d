// SPDX-License-Identifier: BSD-2-Clause
//
// What the tooltip says of the place that is pointed at.

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
  if (row.kind === "server") return describeServer(row, time, part.win);
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
    return [`${runName(row.index)}${row.domain.name} · ${row.name}`,
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

function describeServer({ index, label }, time, win) {
  const { budget } = data.servers[index];
  const points = win.points[index];
  const next = firstFrom(points, 2, 0, time) * 2;
  const at = Math.max(0, next - 2);
  const span = points[next] - points[at];
  const share = span > 0 ? (time - points[at]) / span : 0;
  const left = next < points.length
    ? points[at + 1] + share * (points[next + 1] - points[at + 1])
    : points[points.length - 1];
  return [label, `${timeText(Math.round(left))} of ${timeText(budget)} left`,
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
  const lines = [`${runName(row.index)}${row.domain.name} · ${row.name}, job ${job}`, `released ${timeText(release)}`];
  if (deadline > 0) lines.push(`deadline ${timeText(deadline)}`);
  lines.push(finish >= 0
    ? `finished ${timeText(finish)}, after ${timeText(finish - release)}`
    : "not finished in what is shown");
  if (missed) lines.push("✗ missed its deadline");
  const item = itemOf(win, row.index, job);
  if (item) lines.push(item.text);
  if (running) lines.push(`running on ${pcpuName(running[2])}`);
  if (waiting) lines.push(`${waiting} more jobs were waiting when this window began`);
  return lines;
}
