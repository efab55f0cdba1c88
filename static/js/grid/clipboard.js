/* Copy, cut and paste of rectangles, with the browser's clipboard events, which need no permission. */

import * as commands from "./commands.js";
import { announce, counted } from "./dom.js";
import { tidy } from "./model.js";
import { hasHeadings, pasteSheet, readSheet } from "./sheet.js";
import { MOST_ROWS, parseTsv, readClipboard, writeHtml, writeTsv } from "./tsv.js";

export function attachClipboard(editor) {
  const { input } = editor.view;
  const idle = () => !editor.keyboard.editing;

  const put = (event) => {
    const rect = editor.rect();
    if (!rect || !idle()) return null;
    const rows = [];
    for (let r = rect.top; r <= rect.bottom; r += 1) {
      const row = [];
      for (let c = rect.left; c <= rect.right; c += 1) row.push(commands.textAt(editor.doc, r, c));
      rows.push(row);
    }
    event.preventDefault();
    event.clipboardData.setData("text/plain", writeTsv(rows));
    event.clipboardData.setData("text/html", writeHtml(rows));
    return rect;
  };
  const size = ({ top, left, bottom, right }) => `${bottom - top + 1} by ${right - left + 1}`;

  input.addEventListener("copy", (event) => {
    const rect = put(event);
    if (rect) announce(`copied ${size(rect)}`);
  });
  input.addEventListener("cut", (event) => {
    const rect = put(event);
    if (!rect || !editor.mayEdit()) return;
    const { ops } = commands.clear(editor.doc, rect);
    editor.perform({ label: `cut ${size(rect)}`, ops });
  });
  input.addEventListener("paste", (event) => {
    if (!idle()) {
      pasteIntoText(event);
      return;
    }
    event.preventDefault();
    if (!editor.mayEdit()) return;
    const block = readClipboard(event.clipboardData);
    if (!block) announce("the clipboard contains no text");
    else pasteBlock(editor, block, event.clipboardData.getData("text/plain"));
  });
}

/* Menu actions. Copy and cut trigger the events above; reading the clipboard needs the browser's permission. */
export function clipboardCommand(editor, kind) {
  editor.view.place(true);
  document.execCommand(kind);
}

export async function pasteFromMenu(editor) {
  try {
    const text = await navigator.clipboard.readText();
    if (!editor.mayEdit()) return;
    if (text === "") announce("the clipboard contains no text");
    else pasteBlock(editor, parseTsv(text), text);
  } catch {
    editor.say("The browser does not let this page read the clipboard. Press Ctrl+V (on a Mac ⌘V) to paste.", "");
  }
}

/* Line breaks in a text field become spaces. */
function pasteIntoText(event) {
  const text = event.clipboardData.getData("text/plain");
  if (!/[\r\n\t]/.test(text)) return;
  event.preventDefault();
  const line = tidy(text);
  event.target.setRangeText(line, event.target.selectionStart, event.target.selectionEnd, "end");
  event.target.dispatchEvent(new Event("input", { bubbles: true }));
}

export function pasteBlock(editor, block, text = "") {
  const { doc, view } = editor;
  if (block.rows.length > MOST_ROWS) {
    editor.say(`The clipboard has ${block.rows.length} rows; a suite has at most ${MOST_ROWS}.`, "bad");
    return;
  }
  if (editor.headed && hasHeadings(doc, block, text)) {
    const take = (sheet) => {
      if (editor.perform(pasteSheet(editor.doc, sheet), { r: 0, c: 0 })) editor.say(sheet.understood.join(" "), "");
      view.place(true);
    };
    const plain = () => pasteCells(editor, block);
    readSheet(editor.headed, doc, block, text, { take, plain }).catch((error) =>
      editor.say(`The sheet was not pasted: ${error.message}.`, "bad"),
    );
  } else pasteCells(editor, block);
}

function pasteCells(editor, block) {
  const { doc, view } = editor;
  if (!doc.conditions.length || !doc.regions.length) return;
  const { r, c } = editor.selection;
  if (r < 0 && doc.nRows > 0 && c >= 0 && block.rows.length === 1) {
    editor.perform(renameRegions(doc, c, block.rows[0]));
    return;
  }
  const rect = editor.rect() ?? { top: 0, left: Math.max(0, c), bottom: 0, right: Math.max(0, c) };
  const over = block.rows.length - (doc.nRows - rect.top);
  if (doc.shown && over > 0) {
    editor.say(
      `${counted(over, "row")} of the clipboard would go past the rows that the filter shows; nothing was pasted. Show all rows first.`,
      "bad",
    );
    return;
  }
  const entry = commands.paste(doc, rect, block);
  const at = { top: rect.top, left: rect.left };
  if (!editor.perform(entry)) return;
  editor.selection.range(
    at.top,
    at.left,
    Math.min(doc.nRows, at.top + block.rows.length) - 1,
    at.left + block.width - 1,
  );
  view.place(true);
}

/* A row pasted on a heading renames regions. */
function renameRegions(doc, c, names) {
  const ops = names
    .slice(0, doc.regions.length - c)
    .flatMap((name, k) => commands.renameRegion(doc, c + k + 1, name).ops);
  return { label: `renamed ${ops.length} regions`, ops };
}
