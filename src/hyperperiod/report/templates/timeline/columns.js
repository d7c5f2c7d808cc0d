// SPDX-License-Identifier: BSD-2-Clause
//
// Draws what is not record by record: the columns of the overview, as wide as the view needs.

// Who had a pcpu: a share of each column in the colour of each domain.
function drawShares(row, { level, length, first, edges }) {
  const bottom = row.y + row.height - 3;
  let low = edges.map(() => 0);
  for (const { domain, time } of data.overview.pcpus[row.index]) {
    const height = (at) => ((time[level][first + at] || 0) / length) * (row.height - 7);
    const high = low.map((from, at) => from + height(at));
    const { color, pattern } = domainOr(domain);
    fillColumns(edges, bottom, low, high, color, pattern);
    low = high;
  }
}

// A domain of the overview, or what its other numbers mean.
function domainOr(number) {
  if (number === OTHERS) return { name: "others", color: look.soft, pattern: 0 };
  return data.domains[number] || { name: "stolen", color: look.line, pattern: 1 };
}

// What a server paid, as a share of what its interface gives it.
function drawPaid(row, { level, length, first, edges }) {
  const { budget, period, vcpu } = data.servers[row.index];
  const paid = data.overview.paid[row.index][level];
  const full = (length * budget) / period;
  const height = row.height - 12;
  const high = edges.map((_, at) => Math.min(1, (paid[first + at] || 0) / full) * height);
  pen.globalAlpha = 0.55;
  fillColumns(edges, row.y + row.height - 5, edges.map(() => 0), high, colorOf(vcpu), 0);
  pen.globalAlpha = 1;
}

// The longest response of each column, with a line at the deadline; misses as marks above.
function drawResponses(row, { level, first, edges }) {
  const longest = data.overview.longest[row.index];
  const misses = data.overview.misses[row.index][level];
  const { deadline } = data.tasks[row.index];
  const most = Math.max(deadline, longest[longest.length - 1][0] || 0) || 1;
  const bottom = row.y + row.height - 6;
  const y = (time) => (time / most) * (row.height - 15);
  const high = edges.map((_, at) => y(longest[level][first + at] || 0));
  fillColumns(edges, bottom, edges.map(() => 0), high, row.domain.color, row.domain.pattern);
  pen.strokeStyle = look.soft;
  pen.lineWidth = 0.7;
  const last = edges.length - 1;
  if (deadline > 0) line(edges[0], bottom - y(deadline), edges[last], bottom - y(deadline));
  pen.fillStyle = look.bad;
  for (let at = 0; at < last; at += 1)
    if (misses[first + at])
      pen.fillRect(edges[at], row.y + 2, Math.max(2, edges[at + 1] - edges[at] - 1), 6);
}

// Fills each column between two heights above the bottom.
function fillColumns(edges, bottom, low, high, color, pattern) {
  const count = edges.length - 1;
  pen.beginPath();
  pen.moveTo(edges[0], bottom - low[0]);
  for (let at = 0; at < count; at += 1) {
    pen.lineTo(edges[at], bottom - high[at]);
    pen.lineTo(edges[at + 1], bottom - high[at]);
  }
  for (let at = count - 1; at >= 0; at -= 1) {
    pen.lineTo(edges[at + 1], bottom - low[at]);
    pen.lineTo(edges[at], bottom - low[at]);
  }
  pen.closePath();
  pen.fillStyle = color;
  pen.fill();
  if (pattern > 0) {
    pen.fillStyle = look.hatch[(pattern - 1) % look.hatch.length];
    pen.fill();
  }
  shapes += count;
}
