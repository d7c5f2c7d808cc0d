// SPDX-License-Identifier: BSD-2-Clause
//
// The picture of the view to keep, as SVG and as PNG.

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
