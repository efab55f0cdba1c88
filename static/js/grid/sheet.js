/* A whole sheet on the clipboard: headings tell item and condition, one row per sentence (wide) or per region (long).
   What it names is found or made; what it does not name stays. */

import { counted } from "./dom.js";
import { tidy } from "./model.js";
import { parseTsv } from "./tsv.js";

const ITEM = /^item(_?(number|no|id))?$/i;
const CONDITION = /^cond(ition)?(_?name)?$/i;
const REGION_NUMBER = /^region_?(number|no)$/i;
const REGION_NAME = /^region(_?name)?$/i;
const CONTENT = /^(content|text)s?$/i;

/* Blanks of any kind around a name do not count. */
const heading = (text) => tidy(text).trim();

/* Comma-separated text comes as one column per line. */
function parseCsv(text) {
  const swapped = text.replace(/[\t,]|"(?:[^"]|"")*"/g, (part) => (part === "," ? "\t" : part === "\t" ? " " : part));
  return parseTsv(swapped);
}

export function readSheet(block, text = "") {
  let { rows } = block;
  if (block.width === 1 && /^"?item[^\n\t]*,/i.test(text)) ({ rows } = parseCsv(text));
  const head = rows[0].map(heading);
  const item = head.findIndex((one) => ITEM.test(one));
  const condition = head.findIndex((one) => CONDITION.test(one));
  if (item < 0 || condition < 0 || rows.length < 2) return null;
  const number = head.findIndex((one) => REGION_NUMBER.test(one));
  const content = head.findIndex((one) => CONTENT.test(one));
  try {
    return number >= 0 && content >= 0
      ? readLong(rows, { item, condition, number, content, name: head.findIndex((one) => REGION_NAME.test(one)) })
      : readWide(rows, head, { item, condition });
  } catch (error) {
    return { problem: error.message };
  }
}

const isBlank = (row) => row.every((one) => one.trim() === "");

function itemNumber(text, line) {
  const number = Number(tidy(text));
  if (!Number.isInteger(number) || number < 1) throw new Error(`Row ${line} of the sheet: “${text}” is no item number.`);
  return number;
}

function readWide(rows, head, columns) {
  const places = head.map((_, k) => k).filter((k) => k !== columns.item && k !== columns.condition && head[k] !== "");
  const cells = [];
  const seen = new Set();
  rows.slice(1).forEach((row, k) => {
    if (isBlank(row)) return;
    const item = itemNumber(row[columns.item] ?? "", k + 2);
    const condition = heading(row[columns.condition] ?? "");
    if (!condition) throw new Error(`Row ${k + 2} of the sheet has no condition.`);
    const key = `${item}\t${condition}`;
    if (seen.has(key)) throw new Error(`Row ${k + 2} of the sheet: item ${item} has the condition “${condition}” twice.`);
    seen.add(key);
    places.forEach((place, j) => cells.push([item, condition, j, tidy(row[place] ?? "")]));
  });
  return { kind: "wide", regions: places.map((k) => head[k]), cells };
}

function readLong(rows, columns) {
  const names = [];
  const cells = [];
  rows.slice(1).forEach((row, k) => {
    if (isBlank(row)) return;
    const item = itemNumber(row[columns.item] ?? "", k + 2);
    const condition = heading(row[columns.condition] ?? "");
    const region = Number(row[columns.number]);
    if (!condition) throw new Error(`Row ${k + 2} of the sheet has no condition.`);
    if (!Number.isInteger(region) || region < 1 || region > 500) throw new Error(`Row ${k + 2} of the sheet: “${row[columns.number]}” is no region number.`);
    names[region - 1] ??= heading(row[columns.name] ?? "") || `Region ${region}`;
    cells.push([item, condition, region - 1, tidy(row[columns.content] ?? "")]);
  });
  return { kind: "long", regions: Array.from(names, (name, k) => name ?? `Region ${k + 1}`), cells };
}

const unique = (values) => [...new Set(values)];

/* An empty sheet takes over the pasted one's conditions and regions; otherwise they are found by name or added. */
export function pasteSheet(doc, sheet) {
  const ops = [];
  const isBlankDoc = doc.items.every((item) => doc.conditions.every((name) => doc.contents(item, name).every((text) => text === "")));
  const conditions = unique(sheet.cells.map(([, condition]) => condition));
  const items = unique(sheet.cells.map(([item]) => item));
  let names = [...doc.conditions];
  let numbers = [...doc.items];
  const regions = [...doc.regions];
  if (isBlankDoc && numbers.length) {
    ops.push({ op: "delete_items", items: numbers });
    numbers = [];
  }
  for (const name of conditions.filter((one) => !names.includes(one))) {
    ops.push({ op: "insert_condition", at: names.length, name, rows: Object.fromEntries(numbers.map((one) => [one, regions.map(() => "")])) });
    names.push(name);
  }
  if (isBlankDoc) {
    for (const name of names.filter((one) => !conditions.includes(one))) ops.push({ op: "delete_condition", name });
    names = names.filter((one) => conditions.includes(one));
  }
  const free = regions.map(() => true);
  const place = sheet.regions.map((name, k) => {
    let at = isBlankDoc ? (k < regions.length ? k : -1) : regions.findIndex((one, j) => one === name && free[j]);
    if (at < 0) {
      at = regions.length;
      ops.push({ op: "insert_region", at: at + 1, name, texts: [] });
      regions.push(name);
    } else if (regions[at] !== name) ops.push({ op: "rename_region", region: at + 1, to: name });
    free[at] = false;
    return at;
  });
  if (isBlankDoc) for (let k = regions.length; k > sheet.regions.length; k -= 1) ops.push({ op: "delete_region", region: k });
  ops.push(...placeCells(doc, sheet, { names, numbers, place, width: isBlankDoc ? sheet.regions.length : regions.length, items }));
  return { label: `pasted a ${sheet.kind} sheet: ${counted(items.length, "item")}, ${counted(conditions.length, "condition")}, ${counted(sheet.regions.length, "region")}`, ops };
}

function placeCells(doc, sheet, { names, numbers, place, width, items }) {
  const known = new Set(numbers);
  const fresh = new Map();
  for (const item of items.filter((one) => !known.has(one))) {
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
