/* Appearance and accessible names of cells. */

import { breakable, condClass, h, icon, OUTCOMES, shortBits, signed } from "./dom.js";
import { CONDITION, HEAD, ITEM } from "./selection.js";

export const LONG = 16; // characters of a condition's name that is written small, in two lines
const flagKey = (item, condition, region) => `${item}|${region}|${condition}`;
export { flagKey };

/* Replace everything in a cell except the input. */
function fill(cell, ...nodes) {
  const input = cell.querySelector(":scope > .grid-input");
  if (!input) {
    cell.replaceChildren(...nodes);
    return;
  }
  for (const child of [...cell.childNodes]) if (child !== input) child.remove();
  input.before(...nodes);
}

export function paintHead(th, sheet, c, extras) {
  const { doc, critical } = sheet;
  th.className = th.classList.contains("is-active") ? "is-active" : "";
  if (c === ITEM) {
    th.classList.add("item-no");
    fill(th, "Item");
  } else if (c === CONDITION) {
    th.classList.add("cond-head");
    fill(th, "Condition");
  } else if (c < doc.regions.length) {
    const compared = critical.regions.has(c + 1);
    th.classList.add("region");
    th.classList.toggle("is-critical", compared);
    const note = compared ? h("span", { class: "visually-hidden", text: " (compared by a prediction)" }) : "";
    fill(
      th,
      h("span", { class: "no", text: c + 1 }),
      h("span", { class: "region-name", dir: "auto" }, ...breakable(doc.regions[c])),
      note,
    );
    th.title = compared ? `${doc.regions[c]}: compared by a prediction` : doc.regions[c];
  } else {
    const extra = extras[c - doc.regions.length];
    th.classList.add("num", "extra");
    const name = extra === "total" ? "Total" : doc.predictions[extra]?.name || `P${extra + 1}`;
    fill(th, h("span", { class: "region-name", dir: "auto" }, ...breakable(name)));
    th.title =
      extra === "total"
        ? "Bits of the whole sentence"
        : `Prediction ${extra + 1} ${doc.predictions[extra]?.name ?? ""}`;
  }
}

export function paintCell(cell, sheet, extras) {
  const { doc } = sheet;
  const { r, c } = cell.grid;
  const active = cell.classList.contains("is-active") ? " is-active" : "";
  const chosen = cell.classList.contains("is-selected") ? " is-selected" : "";
  const { item, condition } = doc.place(r);
  if (c === ITEM) {
    cell.className = `item-no${active}`;
    const first = doc.beginsItem(r);
    fill(cell, h("span", { class: first ? "" : "visually-hidden", text: item }));
  } else if (c === CONDITION) {
    cell.className = `cond-cell${active}`;
    const look = `cond ${condClass(doc.conditions.indexOf(condition))}${condition.length > LONG ? " is-long" : ""}`;
    fill(cell, h("span", { class: look }, h("span", { class: "cond-name", dir: "auto" }, ...breakable(condition))));
    cell.title = condition;
  } else if (c < doc.regions.length) {
    paintText(cell, sheet, item, condition, c, active + chosen);
  } else {
    cell.className = `extra num${active}`;
    paintExtra(cell, sheet, item, condition, extras[c - doc.regions.length]);
    cell.setAttribute("aria-readonly", "true");
  }
}

function paintText(cell, sheet, item, condition, c, kept) {
  const text = sheet.doc.cell(item, condition, c + 1);
  const score = text ? sheet.overlay.regionOf(item, condition, c + 1) : undefined;
  const critical = sheet.critical.cells.get(condition)?.has(c + 1);
  const flag = sheet.flags.get(flagKey(item, condition, c + 1));
  let look = kept;
  if (critical) look += " is-critical";
  if (flag) look += ` has-${flag}`;
  if (text === undefined) {
    cell.className = `is-loading${look}`;
    fill(cell, "…");
    return;
  }
  if (text === "") look += " is-empty";
  else if (sheet.hitPattern?.test(text)) look += " is-hit";
  if (score) look += ` ${score.look}${score.look && score.look !== "d0" ? " is-tinted" : ""}`;
  cell.className = look.trim();
  cell.dir = text === "" ? "" : "auto";
  const shown = h("span", { class: "text", text: text === "" ? "∅" : text });
  if (!score) fill(cell, shown);
  else fill(cell, h("span", { class: "scored" }, shown, h("span", { class: "bits", text: score.value })));
  if (text.length > 12) cell.title = text;
  else cell.removeAttribute("title");
}

function paintExtra(cell, sheet, item, condition, extra) {
  if (extra === "total") {
    const row = sheet.overlay.bitsOf(item, condition);
    fill(cell, h("span", { "data-read": "", text: row ? shortBits(row.surprisal) : "" }));
    return;
  }
  const outcome = sheet.doc.beginsItem(cell.grid.r) ? sheet.overlay.outcomeOf(item, extra) : undefined;
  if (!outcome) {
    fill(cell);
    return;
  }
  const [look, drawing, label] = OUTCOMES[outcome.code] ?? OUTCOMES[3];
  const margin = Number.isFinite(outcome.margin) ? signed(outcome.margin) : "";
  cell.title = `${label}${margin ? `, by ${margin} bits` : ""}${outcome.close ? ", too close to call" : ""}`;
  const close = outcome.close ? h("span", { class: "quiet", "aria-hidden": "true", text: "≈" }) : "";
  fill(
    cell,
    h("span", { class: "margin", text: margin }),
    close,
    h("span", { class: `mark ${look}` }, icon(drawing)),
    h("span", { class: "visually-hidden", "data-read": "", text: cell.title }),
  );
}

/* Accessible name of a cell; its text is the value of the input. */
export function cellLabel(sheet, r, c, extras) {
  const { doc } = sheet;
  if (r === HEAD) {
    if (c === ITEM) return "Item numbers";
    if (c === CONDITION) return "Conditions";
    return c < doc.regions.length ? `Name of region ${c + 1}` : "Preview column";
  }
  if (r >= doc.nRows) return "No items yet";
  const { item, condition } = doc.place(r);
  if (c === ITEM) return `Number of item ${item}`;
  if (c === CONDITION) return `Condition name, item ${item}`;
  const where = `item ${item}, ${condition}`;
  if (c < doc.regions.length) {
    const empty = doc.cell(item, condition, c + 1) === "" ? ", empty" : "";
    const flag = sheet.flags.get(flagKey(item, condition, c + 1));
    const compared = sheet.critical.cells.get(condition)?.has(c + 1) ? ", compared by a prediction" : "";
    return `${doc.regions[c]}, ${where}${empty}${compared}${flag ? `, ${flag === "error" ? "an" : "a"} ${flag}` : ""}`;
  }
  const extra = extras[c - doc.regions.length];
  return extra === "total" ? `Bits in total, ${where}` : `Prediction ${extra + 1}, ${where}`;
}
