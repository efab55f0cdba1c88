/* Charts with data-figure: every mark has a <title>. That of the mark under the pointer, or selected by the arrow keys, is
   shown below the drawing. Without scripts the browser shows the titles as tooltips. */

/* A figure may have a second drawing for narrow screens. */
const isDrawn = (mark) =>
  mark.closest("svg").getClientRects().length > 0 || !mark.closest(".chart-narrow, .chart-wide");

function enhance(figure) {
  const box = figure.querySelector(".chart-box");
  const readout = figure.querySelector("[data-figure-readout]");
  const marks = [...box.querySelectorAll("svg g > title")].map((title) => title.parentElement).filter(isDrawn);
  if (!marks.length || !readout) return;
  let current = -1;
  readout.hidden = false;
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute(
    "aria-label",
    `${box.querySelector("svg > title")?.textContent ?? "Chart"}. Arrow keys read its marks.`,
  );

  const read = (index) => {
    marks[current]?.classList.remove("is-read");
    current = index;
    marks[current].classList.add("is-read");
    readout.textContent = marks[current].querySelector("title").textContent;
  };
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) read((current + step + marks.length) % marks.length);
    else if (event.key === "Home") read(0);
    else if (event.key === "End") read(marks.length - 1);
    else return;
    event.preventDefault();
    marks[current].scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  box.addEventListener("pointerover", (event) => {
    const index = marks.indexOf(event.target.closest("g:has(> title)"));
    if (index >= 0) read(index);
  });
  box.addEventListener("focus", () => {
    if (current < 0)
      readout.textContent =
        marks.length === 1
          ? "One mark. Press an arrow key to read it."
          : `${marks.length} marks. Press the arrow keys to read them.`;
  });
  box.addEventListener("blur", () => marks[current]?.classList.remove("is-read"));
}

const enhanceAll = (root) => {
  for (const figure of root.querySelectorAll("[data-figure]:not([data-figure-ready])")) {
    figure.dataset.figureReady = "";
    enhance(figure);
  }
};
enhanceAll(document);
document.addEventListener("htmx:afterSettle", (event) => enhanceAll(event.target));
