/* Clipboard text to cells and back: tab-separated text as Excel and Sheets write it, and HTML tables.
   Returns {rows: [[text, …], …], ragged, merged}; nothing is evaluated as a formula.
   No-break spaces are text, except where a program writes them into HTML as padding. */

import { tidy } from "./model.js";

/* Quoted cells may contain tabs, newlines and doubled quotes. A quote inside an unquoted cell is a quote. */
export function parseTsv(text) {
  const source = text
    .replace(/^\ufeff/, "")
    .replace(/\r\n?/g, "\n")
    .replace(/\n$/, "");
  const rows = [[]];
  let at = 0;
  for (;;) {
    let cell = "";
    const closing = source[at] === '"' ? closingQuote(source, at) : -1;
    if (closing > 0) {
      cell = source.slice(at + 1, closing).replace(/""/g, '"');
      at = closing + 1;
    } else {
      const end = nextBreak(source, at);
      cell = source.slice(at, end);
      at = end;
    }
    rows.at(-1).push(cell);
    if (at >= source.length) break;
    if (source[at] === "\n") rows.push([]);
    at += 1;
  }
  return { rows, ...shapeOf(rows), merged: 0 };
}

function nextBreak(source, at) {
  let end = at;
  while (end < source.length && source[end] !== "\t" && source[end] !== "\n") end += 1;
  return end;
}

/* Index of the closing quote (before a tab, a newline or the end), or -1 if the first quote is an ordinary character. */
function closingQuote(source, at) {
  for (let k = at + 1; k < source.length; k += 1) {
    if (source[k] !== '"') continue;
    if (source[k + 1] === '"') {
      k += 1;
      continue;
    }
    return k + 1 >= source.length || source[k + 1] === "\t" || source[k + 1] === "\n" ? k : -1;
  }
  return -1;
}

function shapeOf(rows) {
  const widths = rows.map((row) => row.length);
  return { ragged: new Set(widths).size > 1, width: Math.max(0, ...widths) };
}

/* The first table in a piece of HTML, or null. A merged cell keeps its text in its first cell. */
export function parseHtml(html) {
  if (!/<table/i.test(html)) return null;
  const table = new DOMParser().parseFromString(html, "text/html").querySelector("table");
  if (!table) return null;
  const rows = [];
  const taken = new Map();
  let merged = 0;
  [...table.rows].forEach((tr, r) => {
    const row = [];
    for (const cell of tr.cells) {
      while (taken.has(`${r},${row.length}`)) row.push("");
      const down = Math.min(cell.rowSpan || 1, table.rows.length - r);
      const across = Math.min(cell.colSpan || 1, 1000);
      if (down > 1 || across > 1) merged += 1;
      for (let k = 1; k < down; k += 1)
        for (let c = 0; c < across; c += 1) taken.set(`${r + k},${row.length + c}`, true);
      row.push(cellText(cell));
      for (let c = 1; c < across; c += 1) row.push("");
    }
    while (taken.has(`${r},${row.length}`)) row.push("");
    rows.push(row);
  });
  return rows.length ? { rows, ...shapeOf(rows), merged } : null;
}

function cellText(cell) {
  for (const br of cell.querySelectorAll("br")) br.replaceWith("\n");
  if (cell.dataset.verbatim !== undefined) return cell.textContent;
  // Excel writes runs of spaces as no-break spaces, and many programs an empty cell as one.
  for (const run of cell.querySelectorAll("[style*=mso-spacerun]"))
    run.textContent = run.textContent.replace(/\u00a0/g, " ");
  return cell.textContent.trim() === "" ? "" : tidy(cell.textContent);
}

/* Maximum number of rows of a suite; a selected column of a spreadsheet may have more. */
export const MOST_ROWS = 20_000;

export function readClipboard(data) {
  const html = data.getData("text/html");
  const read = (html && parseHtml(html)) || null;
  if (read) return read;
  const text = data.getData("text/plain");
  return text === "" ? null : parseTsv(text);
}

const quoted = (text) => (/["\t\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export function writeTsv(rows) {
  return rows.map((row) => row.map(quoted).join("\t")).join("\n");
}

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text) => text.replace(/[&<>"]/g, (sign) => ENTITIES[sign]);

export function writeHtml(rows) {
  const cell = (text) => `<td data-verbatim>${escaped(text).replaceAll("\n", "<br>")}</td>`;
  return `<table><tbody>${rows.map((row) => `<tr>${row.map(cell).join("")}</tr>`).join("")}</tbody></table>`;
}
