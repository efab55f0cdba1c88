/* Merge dialog: shows conflicting edits of two people with both values. */

import { refresh, scoringOf } from "./model.js";
import { h } from "./dom.js";
import { scoringInWords } from "./scoring.js";

/* Current number of a conflict's region; 0 if the region, its item or its condition no longer exists. */
function regionOf(doc, { item, condition, region, name }) {
  const places = doc.regions.flatMap((other, k) => (other === name ? [k + 1] : []));
  const current = places.includes(region) ? region : places.length === 1 ? places[0] : 0;
  return doc.cell(item, condition, current) === undefined ? 0 : current;
}

function theirsOf(doc, conflict) {
  if (conflict.what === "predictions") return doc.predictions;
  return conflict.what === "scoring"
    ? scoringOf(doc)
    : doc.cell(conflict.item, conflict.condition, regionOf(doc, conflict));
}

/* The op that replaces the current value by "yours". */
export function takeMine(doc, conflict) {
  if (conflict.what === "cell")
    return refresh(doc, {
      op: "set_cells",
      cells: [[conflict.item, conflict.condition, regionOf(doc, conflict), "", conflict.yours]],
    });
  if (conflict.what === "scoring") return refresh(doc, { op: "set_scoring", ...conflict.yours });
  return refresh(doc, { op: "set_predictions", predictions: conflict.yours });
}

const asText = (value) => {
  if (Array.isArray(value))
    return (
      value.map((prediction) => `${prediction.name ? `${prediction.name}: ` : ""}${prediction.formula}`).join("\n") ||
      "no predictions"
    );
  if (value?.metric) return scoringInWords(value);
  return value === "" || value === undefined || value === null ? "∅" : String(value);
};

function whereOf(conflict) {
  if (conflict.what === "predictions") return "Predictions";
  if (conflict.what === "scoring") return "Scoring";
  return `Item ${conflict.item}, ${conflict.condition}, ${conflict.name ?? `region ${conflict.region}`}`;
}

/* Show the dialog. `me`: name of this user; choose(list of {conflict, mine}) is called once, with all choices. */
export function openMerge(dialog, doc, conflicts, me, choose) {
  const body = dialog.querySelector("[data-merge-body]");
  const both = conflicts.filter((conflict) => conflict.what !== "edit" && theirsOf(doc, conflict) !== undefined);
  const lost = conflicts.filter((conflict) => !both.includes(conflict));
  const by =
    [
      ...new Set(
        conflicts.map((conflict) => (conflict.by === me ? "you, in another tab," : conflict.by)).filter(Boolean),
      ),
    ].join(" and ") || "another editor";
  const choices = new Map();
  const rows = both.map((conflict, k) => {
    const theirs = theirsOf(doc, conflict);
    const untouched = asText(theirs) === asText(conflict.old); // only items, conditions or regions changed
    const option = (mine, text) => {
      const id = `merge-${k}-${mine ? "mine" : "theirs"}`;
      const radio = h("input", {
        type: "radio",
        class: "form-check-input",
        name: `merge-${k}`,
        id,
        checked: mine === untouched,
        onchange: () => choices.set(conflict, mine),
      });
      return h(
        "td",
        {},
        h(
          "span",
          { class: "merge-choice" },
          radio,
          h("label", { for: id, class: "merge-text", dir: "auto", text: asText(text) }),
        ),
      );
    };
    choices.set(conflict, untouched);
    return h(
      "tr",
      {},
      h("th", { scope: "row", text: whereOf(conflict) }),
      h("td", { class: "quiet" }, h("div", { class: "merge-text", dir: "auto", text: asText(conflict.old) })),
      option(false, theirs),
      option(true, conflict.yours),
    );
  });
  const all = (mine) => {
    for (const radio of body.querySelectorAll(`input[id$="-${mine ? "mine" : "theirs"}"]`)) {
      radio.checked = true;
      radio.dispatchEvent(new Event("change"));
    }
  };
  const parts = [
    h("p", {
      text: `While you were editing, ${by} changed this suite, too. Theirs is in the draft now; yours is kept here.`,
    }),
  ];
  if (rows.length) {
    const head = ["Where", "Before", by.startsWith("you,") ? "In the other tab" : `Theirs (${by})`, "Yours"].map(
      (text) => h("th", { scope: "col", text }),
    );
    parts.push(
      h(
        "div",
        { class: "btn-row" },
        h("button", { type: "button", class: "btn btn-s", text: "All theirs", onclick: () => all(false) }),
        h("button", { type: "button", class: "btn btn-s", text: "All mine", onclick: () => all(true) }),
      ),
      h(
        "div",
        { class: "table-box" },
        h("table", { class: "data merge" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows)),
      ),
    );
  }
  if (lost.length) parts.push(...lostPart(lost));
  body.replaceChildren(...parts);
  const apply = dialog.querySelector("[data-merge-apply]");
  apply.onclick = () => {
    dialog.close();
    choose(
      [...choices].map(([conflict, mine]) => ({ conflict, mine })),
      lost,
    );
  };
  if (!dialog.open) dialog.showModal();
}

function lostText(conflict) {
  if (conflict.what !== "cell") return conflict.message || "An edit no longer applies.";
  return `${whereOf(conflict)} no longer exists; you wrote “${conflict.yours}”.`;
}

function lostPart(lost) {
  const text = lost.map((conflict) => JSON.stringify(conflict.ops ?? conflict.yours)).join("\n");
  return [
    h("h3", { text: "No longer possible" }),
    h("ul", { class: "bullets" }, ...lost.map((one) => h("li", { text: lostText(one) }))),
    h("label", { class: "form-label", for: "merge-lost", text: "Your edits, to copy" }),
    h("textarea", { id: "merge-lost", class: "form-control", readOnly: true, spellcheck: false, value: text }),
  ];
}
