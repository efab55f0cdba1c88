/* Buttons with data-copy="#id": copy that element's text, or a table as tab-separated values. A table's
   data-copy-note (scoring rule, intervals) is added below it. Links with data-copy-file: copy the text of the file; if
   that fails, and without scripts, the file is downloaded.

   A cell is copied as its data-copy, else its data-value, else its text without sub-lines. Tabs in data-copy separate
   columns: "0.8750<tab>0.6901<tab>0.9567" under "Pass rate<tab>95% low<tab>95% high". Cells that span rows are
   repeated. */

const UNSEEN = ".sub, .no-print, .visually-hidden";

/* Put an apostrophe before text that a spreadsheet would read as a formula, as in CSV files. Numbers are not changed. */
function guard(text) {
  return /^'*[=+\-@＝＋－＠]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
}

function textWithoutSubLines(cell) {
  const copy = cell.cloneNode(true);
  for (const line of copy.querySelectorAll(UNSEEN)) line.remove();
  return copy.textContent;
}

/* The values of a cell, one per column. */
function values(cell) {
  const clean = (text) => guard(text.replace(/\s+/g, " ").trim());
  if (cell.dataset.copy !== undefined) return cell.dataset.copy.split("\t").map(clean);
  return [clean(cell.dataset.value ?? textWithoutSubLines(cell))];
}

/* Cells by row and column; a cell that spans several is repeated. */
function grid(table) {
  const rows = [...table.rows].map(() => []);
  [...table.rows].forEach((row, top) => {
    for (const cell of row.cells) {
      let left = 0;
      while (rows[top][left]) left += 1;
      for (let down = 0; down < cell.rowSpan && top + down < rows.length; down += 1)
        for (let right = 0; right < cell.colSpan; right += 1) rows[top + down][left + right] = values(cell);
    }
  });
  return rows;
}

export function tableText(table) {
  const cells = grid(table);
  const widths = [];
  for (const row of cells)
    row.forEach((parts, column) => (widths[column] = Math.max(widths[column] ?? 1, parts.length)));
  const rows = cells.map((row) =>
    row.flatMap((parts, column) => [...parts, ...Array(widths[column] - parts.length).fill("")]),
  );
  const note = table.dataset.copyNote;
  if (note) rows.push([note, ...Array(rows[0].length - 1).fill("")]);
  return rows.map((row) => row.join("\t")).join("\n");
}

function textOf(element) {
  if (element instanceof HTMLTableElement) return tableText(element);
  return "value" in element ? element.value : element.textContent.trim();
}

async function put(text) {
  try {
    if (navigator.clipboard && window.isSecureContext) return await navigator.clipboard.writeText(text);
  } catch {
    /* not permitted: fall back to execCommand */
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("the browser does not permit copying");
}

async function fetched(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  return response.text();
}

/* Safari permits writing only during the click, so the clipboard gets a promise of the text. */
async function putFile(address) {
  const text = fetched(address);
  if (navigator.clipboard?.write && window.isSecureContext) {
    try {
      const blob = text.then((content) => new Blob([content], { type: "text/plain" }));
      return await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
    } catch {
      /* not permitted, or no promises: write the text itself */
    }
  }
  return put(await text);
}

function announce(text) {
  const region = document.querySelector("#announcer");
  if (region) region.textContent = text;
}

/* Show the outcome on the button; for an entry of a menu, on the menu's button, and close the menu. */
function say(entry, text, done) {
  const menu = entry.closest("details.menu");
  const button = menu?.querySelector("summary") ?? entry;
  if (menu) {
    menu.open = false;
    button.focus();
  }
  const label = button.querySelector("[data-copy-label]") ?? button;
  label.dataset.before ??= label.textContent;
  label.textContent = text;
  button.classList.toggle("is-done", done);
  announce(text);
  clearTimeout(button.copyTimer);
  button.copyTimer = setTimeout(() => {
    label.textContent = label.dataset.before;
    button.classList.remove("is-done");
  }, 1600);
}

if (typeof document !== "undefined") {
  const reveal = (root) => {
    for (const button of root.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
  };
  reveal(document);
  document.addEventListener("htmx:afterSettle", (event) => reveal(event.target));
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-copy-file]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      try {
        await putFile(link.href);
        say(link, "Copied", true);
      } catch {
        location.assign(link.href);
      }
      return;
    }
    const button = event.target.closest?.("button[data-copy]");
    if (!button) return;
    const source = document.querySelector(button.dataset.copy);
    if (!source) return;
    try {
      await put(textOf(source));
      say(button, "Copied", true);
    } catch {
      say(button, "Select and copy it manually", false);
    }
  });
}
