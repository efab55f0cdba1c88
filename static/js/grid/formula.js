/* Formulas as text: their references, the effect of renames and moves on them, and completion.
   The server has the grammar; this module only parses `(2;%condition%)` and `(*;%condition%)`. */

const REFERENCE = /\(\s*(\*|\?|\d+)\s*;\s*%([^%]*)%\s*\)/g;
const SPELLED = /(\(\s*)(\*|\?|\d+)(\s*;\s*%\s*)([^%]*?)(\s*%\s*\))/g;
const FUNCTIONS = new Set(["abs", "min", "max", "sum", "mean"]);
export const LOST = "?"; // replaces a deleted region; a syntax error, so that the user notices it

export const reference = (region, condition) => `(${region};%${condition}%)`;

export function references(text) {
  return [...text.matchAll(REFERENCE)].map((match) => ({
    region: /^\d+$/.test(match[1]) ? Number(match[1]) : match[1],
    condition: match[2].trim(),
    start: match.index,
    end: match.index + match[0].length,
  }));
}

/* change({region, condition}) returns the new pair, or nothing to leave the reference unchanged. */
export function rewrite(text, change) {
  return text.replace(SPELLED, (whole, open, region, middle, condition, close) => {
    const before = { region: /^\d+$/.test(region) ? Number(region) : region, condition };
    const after = change(before);
    return after && (after.region !== before.region || after.condition !== before.condition)
      ? `${open}${after.region}${middle}${after.condition}${close}`
      : whole;
  });
}

export function renameCondition(text, from, to) {
  return rewrite(text, (ref) => (ref.condition === from ? { ...ref, condition: to } : null));
}

/* map(number) returns the region's new number, or null if it was deleted. */
export function renumberRegions(text, map) {
  return rewrite(text, (ref) => (typeof ref.region === "number" ? { ...ref, region: map(ref.region) ?? LOST } : null));
}

export const afterInsert = (at) => (number) => (number >= at ? number + 1 : number);
export const afterDelete = (region) => (number) => (number === region ? null : number > region ? number - 1 : number);
export const afterMove = (from, to) => (number) => {
  if (number === from) return to;
  if (from < to && number > from && number <= to) return number - 1;
  if (to < from && number >= to && number < from) return number + 1;
  return number;
};

/* Region numbers that formulas refer to; "*" is ignored. */
export function criticalRegions(formulas) {
  const numbers = new Set();
  for (const text of formulas) {
    for (const { region } of references(text)) if (typeof region === "number") numbers.add(region);
  }
  return numbers;
}

/* condition -> set of region numbers compared there */
export function criticalCells(formulas) {
  const byCondition = new Map();
  for (const text of formulas) {
    for (const { region, condition } of references(text)) {
      if (typeof region !== "number") continue;
      if (!byCondition.has(condition)) byCondition.set(condition, new Set());
      byCondition.get(condition).add(region);
    }
  }
  return byCondition;
}

const begins = (text, prefix) => text.toLocaleLowerCase().startsWith(prefix.toLocaleLowerCase());
const holds = (text, part) => text.toLocaleLowerCase().includes(part.toLocaleLowerCase());

function regionOptions(prefix, regions) {
  const typed = prefix.trim();
  const all = regions.map((name, k) => ({ insert: `(${k + 1};%`, label: name, detail: `region ${k + 1}` }));
  const star = { insert: "(*;%", label: "whole sentence", detail: "*" };
  if (/^\d+$/.test(typed)) return all.filter((_, k) => String(k + 1).startsWith(typed));
  if (typed === "*") return [star];
  const first = all.filter((option) => begins(option.label, typed));
  const rest = all.filter((option) => !first.includes(option) && holds(option.label, typed));
  return [...first, ...rest, ...(begins(star.label, typed) ? [star] : [])];
}

/* Completions at the caret: {from, to, kind, options: [{insert, label, detail}]}, or null. */
export function completionAt(text, caret, regions, conditions) {
  const before = text.slice(0, caret);
  const after = text.slice(caret);
  const name = /\(\s*(?:\*|\?|\d+)\s*;\s*%([^%()]*)$/.exec(before);
  if (name) {
    const rest = /^([^%()<>=&|~+*/[\]]*)%\s*\)?/.exec(after)?.[0] ?? "";
    const prefix = name[1].trimStart();
    const matching = [
      ...conditions.filter((name) => begins(name, prefix)),
      ...conditions.filter((name) => !begins(name, prefix) && holds(name, prefix)),
    ];
    const options = matching.map((name) => ({ insert: `${name}%)`, label: name, detail: "condition" }));
    return options.length ? { from: caret - prefix.length, to: caret + rest.length, kind: "condition", options } : null;
  }
  const open = /\(\s*([^()[\];%<>=&|~+/-]*)$/.exec(before);
  const word = /[\p{L}_][\p{L}\p{N}_]*$/u.exec(before);
  if (open) {
    const options = regionOptions(open[1], regions);
    return options.length ? { from: open.index, to: caret, kind: "region", options } : null;
  }
  if (word && !FUNCTIONS.has(word[0])) {
    const options = regionOptions(word[0], regions);
    return options.length ? { from: word.index, to: caret, kind: "region", options } : null;
  }
  return null;
}
