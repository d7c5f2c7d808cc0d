// SPDX-License-Identifier: BSD-2-Clause
//
// What differs between the runs of a comparison: marks in the rows of each run but the first, which
// it is compared with, and the way from one to the next.

// Of a window, by the kind of row and its place: start, end, whether it is grave, and a sentence.
function differences(win) {
  win.differences ||= {
    pcpu: win.pcpus.map((spans, index, all) => compared(spans, index, all, whoDiffers)),
    task: win.jobs.map((jobs, index, all) => compared(jobs, index, all, (own, first, at) =>
      outcomeDiffers(own, first, at, win))),
  };
  return win.differences;
}

function compared(own, index, all, compare) {
  const run = index % data.runs.length;
  return run ? compare(own, all[index - run], index).sort((a, b) => a.start - b.start) : [];
}

function beside(what, own, first, index) {
  return `${what}: ${own} with ${data.runs[index % data.runs.length]}, ${first} with ${data.runs[0]}`;
}

// Stretches of a pcpu in which another vcpu runs than in the first run.
function whoDiffers(own, first, index) {
  const found = [];
  const vcpu = (spans, at) => Math.floor(spans[at + 2] / data.runs.length);
  const pcpu = `pcpu ${Math.floor(index / data.runs.length)}`;
  for (let at = 0, other = 0; at < own.length && other < first.length;) {
    const start = Math.max(own[at], first[other]);
    const end = Math.min(own[at + 1], first[other + 1]);
    if (start < end && vcpu(own, at) !== vcpu(first, other)) {
      const last = found.at(-1);
      const text = beside(pcpu, whoRuns(own, at), whoRuns(first, other), index);
      if (last && last.end === start && last.text === text) last.end = end;
      else found.push({ start, end, isGrave: false, text });
    }
    if (own[at + 1] === end) at += SPAN;
    else other += SPAN;
  }
  return found;
}

// Jobs whose response, or whether they are late, is not that of the first run: from the instant at
// which one is done to that at which both are. It is grave if one is late and the other is not.
function outcomeDiffers(own, first, index, win) {
  const places = placesOf(first);
  const found = [];
  const response = (jobs, at) => (jobs[at + 2] < 0 ? -1 : jobs[at + 2] - jobs[at]);
  const words = (jobs, at) => (jobs[at + 4] ? "✗ " : "")
    + (jobs[at + 2] < 0 ? "not finished here" : timeText(response(jobs, at)));
  for (let at = 0; at < own.length; at += JOB) {
    const other = places.get(own[at + 3]);
    if (other === undefined) continue;
    const isGrave = own[at + 4] !== first[other + 4];
    if (!isGrave && response(own, at) === response(first, other)) continue;
    const ends = [own[at + 2], first[other + 2]].map((end) => (end < 0 ? win.end : end));
    const what = `${taskName(index)}, job ${own[at + 3]}`;
    const text = beside(what, words(own, at), words(first, other), index);
    found.push({ start: Math.min(...ends), end: Math.max(...ends), isGrave, text });
  }
  return found;
}

// All of the page, by time: pairs of an instant and a sentence.
function allDifferences() {
  data.differences ||= data.windows
    .flatMap((win) => Object.values(differences(win)).flat(2))
    .map(({ start, text }) => [start, text]).sort(byTime);
  return data.differences;
}

function drawDifferences(row, found) {
  let drawnTo = -1;
  for (const { start, end, isGrave } of found) {
    if (start > view.to) break;
    if (end < view.from || (x(end) < drawnTo + 0.4 && !isGrave)) continue;
    drawnTo = x(end);
    shapes += 1;
    pen.fillStyle = isGrave ? look.bad : look.accent;
    pen.fillRect(x(start), row.y, Math.max(1.5, x(end) - x(start)), 3);
  }
}
