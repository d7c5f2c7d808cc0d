// SPDX-License-Identifier: BSD-2-Clause
//
// The timeline of a report: pcpus, budgets and tasks over time on one canvas.
//
// Here are its state, which all parts share, and what makes it of the data; each part in timeline/
// opens with what it does.
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
  const ITEM = 5; // flow, number, hop, task, job
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
  const OWN = 3; // the rank of the rows that the target is about
  const LEGS = 60; // more arrows of flows than this in a view are drawn for one item only
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

{% include "timeline/rows.js" %}
{% include "timeline/scale.js" %}
{% include "timeline/columns.js" %}
{% include "timeline/draw.js" %}
{% include "timeline/tooltip.js" %}
{% include "timeline/jobs.js" %}
{% include "timeline/flows.js" %}
{% include "timeline/differences.js" %}
{% include "timeline/saving.js" %}
{% include "timeline/navigation.js" %}

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
    for (const label of list.labels) label.hidden = list.length < 3; // the start alone is no choice
    const { pcpus } = data.windows[0];
    const folded = Math.max(pcpus.length, data.servers.length, data.tasks.length) > LONG;
    document.getElementById("rowtools").hidden = !folded;
    misses = findMisses();
    lastMiss = null;
    ruler = null;
    const ways = { before: misses, next: misses, worst: misses };
    if (data.runs.length > 1) ways.same = ways.different = allDifferences();
    for (const button of document.querySelectorAll("[data-do]"))
      button.disabled = ways[button.dataset.do]?.length === 0;
    go(first);
    if (!isNew) return;
    clearTimeout(hashTimer); // the address is as it was
    readHash();
  };
  return Object.assign(showData, { timeText });
})();
