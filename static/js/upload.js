/* Drop zones (data-drop): a file input that also accepts dragged files and shows their names and size. */

const UNITS = ["bytes", "kB", "MB"];

export function sizeText(bytes) {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${value} bytes` : `${value.toFixed(1)} ${UNITS[unit]}`;
}

function enhance(zone) {
  const input = zone.querySelector('input[type="file"]');
  const line = zone.querySelector("[data-drop-file]");
  const hint = zone.querySelector("[data-drop-hint]");
  if (!input) return;
  if (hint) hint.hidden = false;
  const limit = Number(zone.dataset.maxBytes ?? 0);

  const show = () => {
    const files = [...input.files];
    if (!line) return;
    line.hidden = !files.length;
    line.textContent = "";
    if (!files.length) return;
    const size = files.reduce((sum, file) => sum + file.size, 0);
    const name = document.createElement("strong");
    name.textContent = files.length === 1 ? files[0].name : `${files.length} files`;
    line.append(name, ` ${sizeText(size)}`);
    const tooBig = limit > 0 && size > limit;
    const what = files.length === 1 ? "This file is" : "These files are";
    input.setCustomValidity(tooBig ? `${what} larger than ${sizeText(limit)}.` : "");
    if (tooBig) line.append(` · larger than the limit of ${sizeText(limit)}`);
  };

  let depth = 0;
  const over = (on) => zone.classList.toggle("is-over", on);
  zone.addEventListener("dragenter", (event) => {
    event.preventDefault();
    depth += 1;
    over(true);
  });
  zone.addEventListener("dragover", (event) => event.preventDefault());
  zone.addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    if (depth === 0) over(false);
  });
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    depth = 0;
    over(false);
    if (event.dataTransfer?.files.length) {
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });
  input.addEventListener("change", show);
  show();
}

if (typeof document !== "undefined") for (const zone of document.querySelectorAll("[data-drop]")) enhance(zone);
