// SPDX-License-Identifier: BSD-2-Clause
//
// What differs between the runs of a comparison: marks in the rows of each run but the first, which
// it is compared with, and the way from one to the next.

// Of a window, by the kind of row and its place: start, end, whether it is grave, and a sentence.
function differences(win) {
  win.differences ||= {
    task: win.jobs.map((jobs, index, all) => compared(jobs, index, all, (own, first, at) =>
      outcomeDiffers(own, first, at, win))),
    pcpu: win.pcpus.map((spans, index, all) => compared(spans, index, all, whoDiffers)),
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
  const vcpu = (spans, at) => baseOf(spans[at + 2]);
  const pcpu = `pcpu ${baseOf(index)}`;
  for (let at = 0, other = 0; at < own.length && other < first.length;) {
    const start = Math.max(own[at], first[other]);
    const end = Math.min(own[at + 1], first[other + 1]);
    if (start < end && vcpu(own, at) !== vcpu(first, other)) {
      const last = found.at(-1);
      const text = beside(pcpu, whoRuns(own, at), whoRuns(first, other), index);
      if (last && last.end === start && last.text === text) last.end = end;
      else found.push({ start, end, isGrave: false, text, pcpu: index });
    }
    if (own[at + 1] === end) at += SPAN;
    else other += SPAN;
  }
  return found;
}

// Jobs that end, respond or are late otherwise than in the first run: from the instant at which one
// is done to that at which both are. It is grave if one is late and the other is not.
function outcomeDiffers(own, first, index, win) {
  const [mine, theirs] = [own, first].map(placesOf);
  const run = index % data.runs.length;
  const isComplete = !win.waiting[index] && !win.waiting[index - run];
  const found = [];
  for (const job of new Set([...mine.keys(), ...theirs.keys()])) {
    const [at, other] = [mine.get(job), theirs.get(job)];
    const both = [outcome(own, at, win), outcome(first, other, win)];
    const seen = both.filter((one) => one.end !== undefined);
    // Done in one of them before this window begins, unless it is left out of those that wait.
    if (seen.length < 2 && !(isComplete && seen[0].release < win.start)) continue;
    if (["end", "isLate", "text"].every((key) => both[0][key] === both[1][key])) continue;
    const ends = seen.map((one) => one.end);
    found.push({
      start: Math.min(...ends),
      end: Math.max(...ends),
      isGrave: seen.length > 1 && both[0].isLate !== both[1].isLate,
      text: beside(`${taskName(index)}, job ${job}`, both[0].text, both[1].text, index),
      moment: at === undefined ? momentOf(win, index - run, other) : momentOf(win, index, at),
    });
  }
  return found;
}

function outcome(jobs, at, win) {
  if (at === undefined) return { text: "not in this window" };
  const [release, , finish, , isLate] = jobs.slice(at, at + JOB);
  const text = finish < 0 ? "not finished here" : timeText(finish - release);
  return { release, end: finish < 0 ? win.end : finish, isLate, text: (isLate ? "✗ " : "") + text };
}

// All of the page, by time: triples of an instant, a sentence and what is to be framed.
function allDifferences() {
  const framed = ({ start, end, text, pcpu, moment }) =>
    moment || { title: text, task: NOBODY, pcpu, release: start, finish: end };
  data.differences ||= data.windows.flatMap((win) => Object.values(differences(win)).flat(2)
    .map((one) => [one.start, one.text, { win, moment: framed(one) }])).sort(byTime);
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
