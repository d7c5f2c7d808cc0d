// SPDX-License-Identifier: BSD-2-Clause
//
// From time to place and back, times as text, and the colours of the page.

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
