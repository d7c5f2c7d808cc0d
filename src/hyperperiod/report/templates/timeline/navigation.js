// SPDX-License-Identifier: BSD-2-Clause
//
// Moves the view: keys, pointers, buttons, the address, links and the list of windows.

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

// Shows a part of the run and frames the moment that has it for its view, and this title, if given.
function go(given, title) {
  const [from, to] = given.sort((a, b) => a - b);
  const shown = (one) => one.view[0] === from && one.view[1] === to && (title ?? one.title) === one.title;
  const win = data.windows.find((one) => one.moments.some(shown)) || data.windows[nearest(from, to)];
  aim(win, win.moments.find(shown));
  rows = layOut();
  list.selectedIndex = Math.max(0, [...list.options].findIndex(({ value, text }) =>
    value === `${from},${to}` && (title ?? text) === text));
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
  back: () => toEvent(-1, data.events ||= data.windows.flatMap(events)),
  on: () => toEvent(1, data.events ||= data.windows.flatMap(events)),
  same: () => toEvent(-1, allDifferences()),
  different: () => toEvent(1, allDifferences()),
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
  p: "before", n: "next", w: "worst", d: "different", D: "same", Escape: "none",
  "shift ArrowLeft": "back", "shift ArrowRight": "on",
};

// "#zoom=0,24us": two instants; one without a unit has the unit of the other.
function readHash(title) {
  const match = /^#zoom=(\d*\.?\d+)(ns|us|ms|s)?,(\d*\.?\d+)(ns|us|ms|s)?(?:&|$)/.exec(location.hash);
  if (!match) return;
  const scale = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
  const unit = (own, other) => scale[own || other || "ns"];
  go([match[1] * unit(match[2], match[4]), match[3] * unit(match[4], match[2])], title);
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

list.addEventListener("change", () =>
  go(list.value.split(",").map(Number), list.selectedOptions[0].text));

// The address may be the same as before; then nothing else says that a link was followed.
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#zoom="]');
  if (!link) return;
  event.preventDefault();
  history.pushState(null, "", link.hash);
  readHash(link.dataset.moment);
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

window.addEventListener("hashchange", () => readHash());
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
