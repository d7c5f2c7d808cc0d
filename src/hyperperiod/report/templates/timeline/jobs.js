// SPDX-License-Identifier: BSD-2-Clause
//
// Jobs, misses and events: what is said of them, and the ways from one to the next.

function taskName(task) {
  const { domain, name } = data.tasks[task];
  return `${data.domains[domain].name}.${name}`;
}

function momentOf(win, task, at) {
  const [release, , finish, job] = win.jobs[task].slice(at, at + JOB);
  const title = `${runName(task)}${taskName(task)}, job ${job}${finish < 0 ? ", not finished here" : ""}`;
  return { title, task, job, release, finish: finish < 0 ? win.end : finish };
}

// Returns the parts of a sentence about a job. Each one that ran on its pcpus from its release to
// its finish, the longest first, is a link to where that held it up longest.
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
      const one = ran.get(name) || { name, length: 0, pieces: [] };
      one.length += length;
      one.pieces.push([spans[at], spans[at + 1], pcpu]);
      ran.set(name, one);
    }
  }
  const own = pieces.reduce((sum, [start, end]) => sum + inside(start, end), 0);
  const others = [...ran.values()].sort((a, b) => b.length - a.length).slice(0, 6)
    .flatMap((one, at) => [at ? ", " : "; meanwhile on its pcpu: ",
      holderLink(one, inside), ` ${timeText(one.length)}`]);
  const whole = release >= win.start && finish <= win.end;
  const item = itemOf(win, task, job);
  return [`${title}: ${timeText(finish - release)} from ${timeText(release)} on. `
    + `${whole ? "It" : "In this window it"} ran ${timeText(own)} in ${pieces.length} `
    + (pieces.length === 1 ? "piece" : "pieces"), ...others, item ? `. It is ${item.text}.` : "."];
}

// A link that outlines the pieces of one that ran meanwhile, and shows the longest of them; the job
// stays framed.
function holderLink({ name, pieces }, inside) {
  const [[start, end]] = [...pieces].sort((a, b) => inside(...b) - inside(...a));
  const [from, to] = [start * 2 - end, end * 2 - start];
  const link = document.createElement("a");
  link.textContent = name;
  link.href = `#zoom=${Math.max(0, from)}ns,${to}ns`;
  link.addEventListener("click", (event) => {
    event.preventDefault();
    event.stopPropagation(); // other links to instants end the frame
    target.held = pieces;
    show(from, to);
  });
  return link;
}

function whoRuns(spans, at) {
  if (spans[at + 4] & STOLEN) return "stolen";
  if (spans[at + 5] >= 0) return taskName(spans[at + 5]);
  return spans[at + 2] >= 0 ? data.vcpus[spans[at + 2]].name : "idle";
}

function say(...words) {
  about.replaceChildren(...words);
  about.hidden = !about.textContent;
}

function aim(win, moment) {
  target = moment ? { win, moment } : null;
  say(...(moment?.task >= 0 ? tellJob(target) : [win ? "" : moment?.title ?? ""]));
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
    late.set(at, [...(late.get(at) || []), `${series.about}${Math.round(rest)} of ${runName(task)}${taskName(task)}`]);
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
  if (!misses.length && !own.length) return;
  const worst = [...misses, ...own].reduce((a, b) => (excess(b) > excess(a) ? b : a));
  if ("time" in worst) showMiss(worst);
  else go(worst.moment.view, worst.moment.title);
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
  if (win) canvas.dispatchEvent(new CustomEvent("instant", { detail: time }));
}

// What the page knows to happen, by time: pairs of an instant and what it is.
function events(win) {
  const found = win.swaps.map(([time, name]) => [time, `swap to ${name}`]);
  win.pcpus.forEach((spans, pcpu) => {
    for (let at = 0; at < spans.length; at += SPAN)
      found.push([spans[at], `${pcpuName(pcpu)}: ${whoRuns(spans, at)}`]);
  });
  win.jobs.forEach((jobs, task) => {
    for (let at = 0; at < jobs.length; at += JOB)
      ["release", "deadline", "completion"].forEach((what, field) => {
        if (field === 0 || jobs[at + field] > 0)
          found.push([jobs[at + field], `${what} of ${runName(task)}${taskName(task)}`]);
      });
  });
  return found.filter(([time]) => time >= win.start && time <= win.end).sort(byTime);
}

const byTime = (a, b) => a[0] - b[0];

// Goes to the instant before or after of a list by time, and says what happens then. What is framed
// there is shown as large as a window's first view is, if it is too small to be seen.
function toEvent(step, found) {
  const seen = ruler && ruler.to >= view.from && ruler.to <= view.to;
  const from = seen ? ruler.to : step > 0 ? view.from - 1 : view.to + 1;
  const times = found.map((one) => one[0]);
  const place = step > 0 ? firstFrom(times, 1, 0, from + 1) : firstFrom(times, 1, 0, from) - 1;
  if (!(place in times)) return;
  const to = times[place];
  ruler = { from: seen ? from : to, to };
  const what = found.filter((one) => one[0] === to).map((one) => one[1]);
  const more = what.length > 6 ? `; and ${what.length - 6} more` : "";
  const [, , framed] = found[times.indexOf(to)];
  let span = view.to - view.from;
  if (framed) {
    target = framed;
    rows = layOut();
    const [first, last] = data.windows[0].view;
    const { release, finish } = framed.moment;
    const wanted = Math.max(last - first, 2 * (finish - release));
    if (wanted * 4 < span) span = wanted;
  }
  const length = to === ruler.from ? "" : ` (${timeText(Math.abs(to - from))} from the last)`;
  say(`${timeText(to)}${length}: ${what.slice(0, 6).join("; ")}${more}`);
  if (to < view.from || to > view.to || span < view.to - view.from) show(to - span / 2, to + span / 2);
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
