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
    const reading = shown < 0;
    document.body.classList.toggle("slides", !reading);
    toggle.textContent = reading ? "Slides" : `${shown + 1} of ${slides.length}: end slides`;
    back.hidden = next.hidden = reading;
    back.disabled = shown === 0;
    next.disabled = shown === slides.length - 1;
    slides.forEach((slide, index) => (slide.hidden = !reading && index !== shown));
    const heading = slides[shown]?.querySelector("h1, h2");
    heading?.focus();
    // The address opens what is shown, and so does a link to another lesson.
    const search = reading ? "" : "?slides";
    const hash = heading ? `#${heading.id}` : location.hash;
    history.replaceState(null, "", location.pathname + search + hash);
    lesson.querySelectorAll("a[href]").forEach((link) => {
      if (link.pathname.includes("/lessons/")) link.search = search;
    });
  };
  const move = (step) => show(Math.max(0, shown + step));
  const named = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    return Math.max(0, slides.findIndex((slide) => slide.contains(target)));
  };

  const bar = document.createElement("div");
  bar.className = "slides-bar";
  const turn = () => show(shown < 0 ? 0 : -1);
  const [back, toggle, next] = [() => move(-1), turn, () => move(1)].map((act) => {
    const button = document.createElement("button");
    button.className = "md-button";
    button.addEventListener("click", act);
    bar.append(button);
    return button;
  });
  back.textContent = "Back";
  toggle.textContent = "Slides";
  next.textContent = "Next";
  back.hidden = next.hidden = true;
  lesson.prepend(bar);

  const steps = { ArrowLeft: -1, PageUp: -1, ArrowRight: 1, PageDown: 1, " ": 1 };
  document.addEventListener("keydown", (event) => {
    if (shown < 0) return;
    if (event.key === "Escape") show(-1);
    // Elsewhere arrows move a cursor or scroll, and space presses.
    const others = event.key === " " ? "a, button, input, summary" : "input, code";
    const elsewhere = event.target.matches(others);
    const changed = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
    if (!steps[event.key] || elsewhere || changed) return;
    event.preventDefault();
    move(steps[event.key]);
  });
  addEventListener("hashchange", () => shown >= 0 && show(named()));

  if (new URLSearchParams(location.search).has("slides")) show(named());
}
