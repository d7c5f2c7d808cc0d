// SPDX-License-Identifier: BSD-2-Clause
//
// Items of flows: which of them a job carries, and the arrows from hop to hop.

// Of a window: by task and job the item that it carries, { way, text }, and the arrows, from the end
// of a job to the release of the one at the next hop. A way names an item.
function flowsOf(win) {
  return win.flows ||= followed(win);
}

function followed(win) {
  const places = win.jobs.map(placesOf);
  const [carried, legs, before] = [new Map(), [], new Map()];
  for (let at = 0; at < win.items.length; at += ITEM) {
    const [flow, number, hop, task, job] = win.items.slice(at, at + ITEM);
    const way = `${flow} ${number}`;
    carried.set(`${task} ${job}`, { way, text: `hop ${hop + 1} of item ${number} of ${data.flows[flow]}` });
    const last = before.get(way);
    const [start, end] = [last && win.jobs[last.task][places[last.task].get(last.job) + 2],
      win.jobs[task][places[task].get(job)]];
    if (start >= 0 && end >= start) legs.push({ way, from: last.task, to: task, start, end });
    before.set(way, { task, job });
  }
  return { carried, legs };
}

// The place of each job in the list of its task, by its number.
function placesOf(jobs) {
  const places = new Map();
  for (let at = 0; at < jobs.length; at += JOB) places.set(jobs[at + 3], at);
  return places;
}

function itemOf(win, task, job) {
  return flowsOf(win).carried.get(`${task} ${job}`);
}

// The arrows of the item that was asked for; where there are few, those of all items.
function drawLegs(win, from, to) {
  const rowOf = new Map(rows.filter((row) => row.kind === "task").map((row) => [row.index, row]));
  const { task, flow, job } = target ? target.moment : {};
  const asked = task >= 0 ? itemOf(win, task, job)?.way : `${flow} ${job}`;
  const seen = flowsOf(win).legs.filter((leg) =>
    leg.start <= to && leg.end >= from && rowOf.has(leg.from) && rowOf.has(leg.to));
  for (const leg of seen) {
    const isAsked = leg.way === asked;
    if (seen.length > LEGS && !isAsked) continue;
    const [top, bottom] = [leg.from, leg.to].map((index) => rowOf.get(index).y + 23.5);
    const down = bottom > top ? 1 : -1;
    shapes += 1;
    pen.strokeStyle = pen.fillStyle = isAsked ? look.accent : look.soft;
    pen.lineWidth = isAsked ? 2.4 : 1.2;
    line(x(leg.start), top, x(leg.end), bottom - 9 * down);
    arrowhead(x(leg.end), bottom - 7 * down, -7 * down);
  }
  pen.lineWidth = 1;
}
