/* The same sheet in LM Gym's grid and in Tabulator: open, paste, move, type, commit. Times in milliseconds, from the call
   or the key until the frame that shows the result is complete. */

import { TabulatorFull } from "/vendor/js/tabulator_esm.min.mjs";
import { Editor } from "/static/js/grid/editor.js";

const REGIONS = 9;
const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
const place = document.querySelector("#place");

function suite(items, conditions) {
  const names = Array.from({ length: conditions }, (_, k) => `condition_${k}`);
  const numbers = Array.from({ length: items }, (_, k) => k + 1);
  const rows = numbers.flatMap((item) => names.map((condition) => ({ item, condition, contents: Array.from({ length: REGIONS }, (_, k) => `word ${item} ${k}`) })));
  return { regions: names.concat(Array(REGIONS).fill("")).slice(0, REGIONS).map((_, k) => `Region ${k + 1}`), conditions: names, items: numbers, rows, predictions: [] };
}

function clear() {
  place.replaceChildren();
  const box = document.createElement("div");
  box.style.height = "640px";
  place.append(box);
  return box;
}

export const kinds = {
  async "LM Gym"(data) {
    const box = clear();
    box.className = "grid-box";
    const menu = document.createElement("div");
    menu.hidden = true;
    place.append(menu);
    const before = performance.now();
    const editor = new Editor({ box, menu, title: "Benchmark" });
    editor.setDocument(data);
    editor.setLocked(false);
    await frame();
    const open = performance.now() - before;
    return {
      open,
      focus: () => editor.view.go(0, 0),
      target: () => editor.view.input,
      rows: () => box.querySelectorAll("tbody tr").length,
      first: () => editor.doc.cell(1, "condition_0", 1),
    };
  },
  async Tabulator(data) {
    const box = clear();
    const rows = data.rows.map(({ item, condition, contents }, id) => ({ id, item, condition, ...Object.fromEntries(contents.map((text, k) => [`r${k}`, text])) }));
    const columns = data.regions.map((title, k) => ({ title, field: `r${k}`, editor: "input", headerSort: false, width: 120 }));
    const before = performance.now();
    const table = await new Promise((done) => {
      const made = new TabulatorFull(box, {
        data: rows,
        height: 640,
        columns: [{ title: "Item", field: "item", frozen: true, headerSort: false }, { title: "Condition", field: "condition", frozen: true, headerSort: false }, ...columns],
        selectableRange: 1,
        selectableRangeColumns: true,
        editTriggerEvent: "dblclick",
        clipboard: true,
        clipboardCopyRowRange: "range",
        clipboardPasteParser: "range",
        clipboardPasteAction: "range",
        history: true,
      });
      made.on("tableBuilt", () => done(made));
    });
    await frame();
    const open = performance.now() - before;
    const cell = () => table.getRows()[0].getCell("r0");
    return {
      open,
      focus: () => {
        const element = cell().getElement();
        for (const type of ["mousedown", "mouseup", "click"]) element.dispatchEvent(new MouseEvent(type, { bubbles: true, button: 0 }));
        table.modules.selectRange.focusActiveCell?.();
      },
      target: () => (box.contains(document.activeElement) ? document.activeElement : cell().getElement()),
      rows: () => box.querySelectorAll(".tabulator-row").length,
      first: () => table.getRows()[0].getData().r0,
    };
  },
};

export async function start(kind, items, conditions) {
  window.sheet = null;
  clear();
  await frame();
  window.sheet = await kinds[kind](suite(items, conditions));
  return { open: window.sheet.open, rows: window.sheet.rows() };
}

/* Paste 150 rows by 9 columns in the format of Excel. */
export async function paste() {
  const text = Array.from({ length: 150 }, (_, r) => Array.from({ length: REGIONS }, (_, k) => `pasted ${r} ${k}`).join("\t")).join("\n");
  const data = new DataTransfer();
  data.setData("text/plain", text);
  window.sheet.focus();
  await frame();
  const before = performance.now();
  window.sheet.target().dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  await frame();
  return { ms: performance.now() - before, first: window.sheet.first() };
}

/* Time every real key from its event to the end of the next frame. */
export function listen() {
  window.times = [];
  window.addEventListener("keydown", (event) => {
    const { timeStamp, key } = event;
    requestAnimationFrame(() => setTimeout(() => window.times.push([key, performance.now() - timeStamp]), 0));
  }, true);
}

Object.assign(window, { bench: { start, paste, listen } });
