/* Tick boxes of a list (form data-ticks): one box ticks all (data-tick-all), and a text shows the number of ticked boxes
   (data-tick-count). Shift-click ticks a range. Without scripts, the boxes have to be ticked one by one. */

for (const form of document.querySelectorAll("form[data-ticks]")) {
  const boxes = [...form.querySelectorAll(`input[type=checkbox][name="${form.dataset.ticks}"]`)];
  const all = form.querySelector("[data-tick-all]");
  const counter = form.querySelector("[data-tick-count]");
  if (!boxes.length) continue;
  let last = null;

  const show = () => {
    const n = boxes.filter((box) => box.checked).length;
    if (all) {
      all.checked = n === boxes.length;
      all.indeterminate = n > 0 && n < boxes.length;
    }
    if (counter) counter.textContent = n ? `${n} ticked` : "";
  };
  if (all) {
    all.closest("[hidden]")?.removeAttribute("hidden");
    all.addEventListener("change", () => {
      for (const box of boxes) box.checked = all.checked;
      show();
    });
  }
  for (const box of boxes) {
    box.addEventListener("click", (event) => {
      if (event.shiftKey && last && last !== box) {
        const [from, to] = [boxes.indexOf(last), boxes.indexOf(box)].sort((a, b) => a - b);
        for (const between of boxes.slice(from, to + 1)) between.checked = box.checked;
      }
      last = box;
      show();
    });
  }
  show();
}
