// SPDX-License-Identifier: BSD-2-Clause
//
// The filter boxes of long tables: a row stays if every word of the box is in it. While a box has
// words in it, matching rows are shown whether the table is folded or not.
"use strict";
for (const fold of document.querySelectorAll(".fold")) {
  const box = fold.querySelector(".filter");
  if (!box) continue;
  const rows = [...fold.querySelectorAll("tbody tr, .chart")];
  const count = fold.querySelector(".count");
  const folded = count.textContent;
  box.hidden = false;
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      left += !row.hidden;
    }
    fold.classList.toggle("filtered", words.length > 0);
    count.textContent = words.length ? `${left} of ${rows.length} match` : folded;
  });
}
