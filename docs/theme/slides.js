// SPDX-License-Identifier: BSD-2-Clause
//
// Slides: a lesson with one heading at a time. The title and each h2 begin a slide. Nothing moves:
// a slide is there or it is not. Whoever cannot see the page hears the heading of each slide, as
// it has the focus.

const lesson = location.pathname.includes("/lessons/") && document.querySelector("article");
if (lesson) {
  const slides = [];
  let shown = -1; // which slide is shown; -1: the page is read as a page

  for (const element of [...lesson.children]) {
    if (["H1", "H2"].includes(element.tagName)) {
      element.tabIndex = -1;
      element.before(document.createElement("section"));
      slides.push(element.previousSibling);
    }
    slides.at(-1)?.append(element);
  }

  const show = (number) => {
    shown = Math.min(number, slides.length - 1);
    document.body.classList.toggle("slides", shown >= 0);
    button.textContent = shown < 0 ? "Slides" : `${shown + 1} of ${slides.length}: end slides`;
    slides.forEach((slide, index) => (slide.hidden = shown >= 0 && index !== shown));
    slides[shown]?.querySelector("h1, h2").focus();
  };

  const button = document.createElement("button");
  button.className = "md-button slides-button";
  button.addEventListener("click", () => show(shown < 0 ? 0 : -1));
  lesson.prepend(button);

  document.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const elsewhere = event.target.matches("input, code"); // where arrows move a cursor, or scroll
    if (shown < 0 || elsewhere || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape") show(-1);
    else if (step) show(Math.max(0, shown + step));
  });

  show(new URLSearchParams(location.search).has("slides") ? 0 : -1);
}
