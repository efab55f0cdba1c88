/* Paste a sheet with headings. The server parses it (suites/answer_forms.py) and lists open questions. Items,
   conditions and regions are matched by name or added; existing ones are kept. */

import { post } from "./api.js";
import { withNames } from "./commands.js";
import { counted } from "./dom.js";
import { tidy } from "./model.js";
import { writeTsv } from "./tsv.js";

const ITEM = /^items?([ _.-]?(number|no|nr|id))?$/i;
const CONDITION = /^cond(ition)?s?([ _.-]?(name|id))?$/i;
const NUMBER = /^\d+(\.0+)?$/;

/* Guess whether the first row is a heading: item and condition, known region names, or words above item numbers. If the guess is
   wrong, the dialog offers to paste plain cells. */
export function hasHeadings(doc, { rows, width }, text) {
  if (width === 1) return /^"?item[^\n\t]*[,;]/i.test(text);
  const [head, ...below] = rows.map((row) => row.map((text) => tidy(text)));
  if (!below.length || head.some((text) => NUMBER.test(text))) return false;
  if (head.some((text) => ITEM.test(text)) && head.some((text) => CONDITION.test(text))) return true;
  if (head.filter((text) => doc.regions.includes(text)).length > 1) return true;
  const numbered = (c) => NUMBER.test(below[0][c] ?? "") && below.every((row) => !row[c] || NUMBER.test(row[c]));
  return width > 2 && head.some((text, c) => text && numbered(c));
}

const isBlank = (doc) =>
  doc.items.every((item) => doc.conditions.every((name) => doc.contents(item, name).every((text) => text === "")));

/* Let the server parse the sheet, and ask the user its open questions. take(sheet) is called with the parsed sheet;
   plain() pastes the cells unchanged. */
export async function readSheet({ url, dialog }, doc, { rows, width }, text, { take, plain }) {
  const form = new FormData();
  form.set(
    "text",
    width === 1 ? text : writeTsv(rows.map((row) => Array.from({ length: width }, (_, c) => tidy(row[c] ?? "")))),
  );
  if (!isBlank(doc)) {
    for (const name of doc.conditions) form.append("condition", name);
    for (const name of doc.regions) form.append("region", name);
  }
  const body = dialog.querySelector("[data-sheet-body]");
  const ask = async () => {
    const { data, page } = await post(url, form);
    if (data) {
      dialog.close();
      take(data);
      return;
    }
    body.replaceChildren(...page.body.childNodes);
    if (!dialog.open) dialog.showModal();
    (
      body.querySelector("[name^='conditions.'], [name^='regions.']") ?? body.querySelector("select, :checked")
    )?.focus();
  };
  body.onsubmit = (event) => {
    event.preventDefault();
    for (const [name, value] of new FormData(event.target)) form.set(name, value);
    dialog.querySelector("[data-sheet-said]").textContent = "";
    ask().catch(
      (error) => (dialog.querySelector("[data-sheet-said]").textContent = `Could not be read: ${error.message}.`),
    );
  };
  dialog.querySelector("[data-sheet-plain]").onclick = () => {
    dialog.close();
    plain();
  };
  await ask();
}

const unique = (values) => [...new Set(values)];

/* An empty document adopts the sheet's conditions and regions; otherwise they are matched by name or added. */
export function pasteSheet(doc, sheet) {
  const ops = [];
  const isBlankDoc = isBlank(doc);
  const conditions = unique(sheet.cells.map(([, condition]) => condition));
  const items = unique(sheet.cells.map(([item]) => item));
  let names = [...doc.conditions];
  let numbers = [...doc.items];
  const regions = [...doc.regions];
  if (isBlankDoc && numbers.length) {
    ops.push({ op: "delete_items", items: numbers });
    numbers = [];
  }
  for (const name of conditions.filter((other) => !names.includes(other))) {
    ops.push({
      op: "insert_condition",
      at: names.length,
      name,
      rows: Object.fromEntries(numbers.map((number) => [number, regions.map(() => "")])),
    });
    names.push(name);
  }
  if (isBlankDoc) {
    for (const name of names.filter((other) => !conditions.includes(other))) ops.push({ op: "delete_condition", name });
    names = names.filter((other) => conditions.includes(other));
  }
  const free = regions.map(() => true);
  const place = sheet.regions.map((name, k) => {
    let at =
      isBlankDoc || !name ? (k < regions.length ? k : -1) : regions.findIndex((other, j) => other === name && free[j]);
    if (at < 0) {
      at = regions.length;
      regions.push(name || `Region ${at + 1}`);
      ops.push({ op: "insert_region", at: at + 1, name: regions[at], texts: [] });
    } else if (name && regions[at] !== name) {
      regions[at] = name;
      ops.push({ op: "rename_region", region: at + 1, to: name });
    }
    free[at] = false;
    return at;
  });
  if (isBlankDoc)
    for (let k = regions.length; k > sheet.regions.length; k -= 1) ops.push({ op: "delete_region", region: k });
  ops.push(
    withNames(doc, regions),
    ...placeCells(doc, sheet, {
      names,
      numbers,
      place,
      width: isBlankDoc ? sheet.regions.length : regions.length,
      items,
    }),
  );
  return {
    label: `pasted a ${sheet.kind} sheet: ${counted(items.length, "item")}, ${counted(conditions.length, "condition")}, ${counted(sheet.regions.length, "region")}`,
    ops: ops.filter(Boolean),
  };
}

function placeCells(doc, sheet, { names, numbers, place, width, items }) {
  const known = new Set(numbers);
  const fresh = new Map();
  for (const item of items.filter((other) => !known.has(other))) {
    fresh.set(item, Object.fromEntries(names.map((name) => [name, Array(width).fill("")])));
  }
  const cells = [];
  for (const [item, condition, k, text] of sheet.cells) {
    const row = fresh.get(item);
    if (row) row[condition][place[k]] = text;
    else {
      const old = doc.cell(item, condition, place[k] + 1) ?? "";
      if (old !== text) cells.push([item, condition, place[k] + 1, old, text]);
    }
  }
  const added = [...fresh].map(([number, rows]) => ({ number, rows }));
  return [
    cells.length ? { op: "set_cells", cells } : null,
    added.length ? { op: "insert_items", at: numbers.length, items: added } : null,
  ].filter(Boolean);
}
