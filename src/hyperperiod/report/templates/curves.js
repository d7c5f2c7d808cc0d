// SPDX-License-Identifier: BSD-2-Clause
//
// Legends: each key is a button that takes its curve out of the charts and puts it back. A key in a
// picture is about that picture, one beside charts about all charts of its section.
"use strict";
for (const key of document.querySelectorAll("[data-key]")) {
  const place = key.closest("svg.lines, section");
  const curves = [...place.querySelectorAll("[data-curve]")]
    .filter((curve) => curve.dataset.curve === key.dataset.key);
  const show = (on) => {
    key.setAttribute("aria-pressed", on);
    for (const curve of curves) curve.style.display = on ? "" : "none";
  };
  const turn = () => show(key.getAttribute("aria-pressed") === "false");
  // What is in a picture with the role of an image is nothing to a screen reader.
  if (place.matches("svg")) place.setAttribute("role", "group");
  key.setAttribute("role", "button");
  key.setAttribute("tabindex", 0);
  key.addEventListener("click", turn);
  key.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    turn();
  });
  show(true);
}
