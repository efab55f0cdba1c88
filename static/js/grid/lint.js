/* Checks panel. A finding links to its cells and can be dismissed with a reason. */

import { call } from "./api.js";
import { flagKey } from "./cells.js";
import { announce, counted, debounce, h, icon } from "./dom.js";

const WEIGHT = { error: 3, warning: 2, info: 1 };
const DRAWING = { error: "cross", warning: "alert", info: "info" };

export class LintPanel {
  /* settings: name -> [label, function that opens the setting] */
  constructor({ list, aside, count }, editor, { url, settings = {} }) {
    this.list = list;
    this.aside = aside;
    this.count = count;
    this.editor = editor;
    this.url = url;
    this.settings = settings;
    this.findings = [];
    this.visited = new Map();
    this.later = debounce(700, () => this.ask());
  }

  async ask(finding) {
    this.controller?.abort();
    this.controller = new AbortController();
    try {
      const { data } = await call(finding ? "POST" : "GET", this.url, finding, { signal: this.controller.signal });
      this.take(data);
      return true;
    } catch (error) {
      if (error.name === "AbortError") return false;
      this.count.textContent = error.status ? error.message : "not checked: no connection";
      return false;
    }
  }

  take({ findings = [] }) {
    this.findings = [...findings].sort((a, b) => (WEIGHT[b.severity] ?? 0) - (WEIGHT[a.severity] ?? 0));
    const open = this.findings.filter((finding) => !finding.ignored);
    const ignored = this.findings.filter((finding) => finding.ignored);
    const before = this.count.textContent;
    this.count.textContent = open.length ? counted(open.length, "finding") : "no problems found";
    if (before && before !== this.count.textContent) announce(`Checks: ${this.count.textContent}`);
    this.list.replaceChildren(...open.map((finding) => this.row(finding)));
    this.list.hidden = open.length === 0;
    this.aside.hidden = ignored.length === 0;
    this.aside.querySelector("summary").textContent = `${counted(ignored.length, "finding")} dismissed`;
    this.aside.querySelector("ul").replaceChildren(...ignored.map((finding) => this.row(finding)));
    const flags = new Map();
    for (const finding of open) {
      if (finding.severity === "info") continue;
      for (const [item, condition, region] of finding.cells ?? []) {
        const key = flagKey(item, condition, region);
        if (flags.get(key) !== "error") flags.set(key, finding.severity);
      }
    }
    this.editor.setFlags(flags);
  }

  row(finding) {
    const { severity, where, message, hint, cells = [], ignored, setting } = finding;
    const words = h("p", {}, h("span", { class: "visually-hidden", text: `${severity}: ` }), message);
    const body = h("div", {}, words);
    const place = cells.length
      ? h("button", { type: "button", class: "finding-go", onclick: () => this.go(finding) }, where)
      : h("span", { class: "where", text: where });
    body.append(
      h(
        "p",
        { class: "finding-line" },
        place,
        cells.length > 1 ? h("span", { class: "note", text: counted(cells.length, "cell") }) : null,
      ),
    );
    if (hint) body.append(h("p", { class: "hint", text: hint }));
    if (this.settings[setting]) {
      const [text, onclick] = this.settings[setting];
      body.append(
        h("p", { class: "finding-line" }, h("button", { type: "button", class: "finding-go", onclick, text })),
      );
    }
    body.append(ignored ? this.kept(finding) : this.ignoring(finding));
    return h("li", { class: `problem-${severity}` }, icon(DRAWING[severity] ?? "info"), body);
  }

  kept(finding) {
    const undo = h("button", {
      type: "button",
      class: "btn btn-quiet btn-s",
      text: "Show again",
      onclick: () => this.ignore(finding, ""),
    });
    return h("p", { class: "note" }, `Dismissed: ${finding.ignored} `, undo);
  }

  ignoring(finding) {
    const reason = h("input", {
      type: "text",
      class: "form-control",
      maxLength: 500,
      required: true,
      "aria-label": "Why this is intended",
      placeholder: "Why this is intended",
    });
    const form = h(
      "form",
      {
        class: "finding-form",
        onsubmit: (event) => {
          event.preventDefault();
          if (reason.value.trim()) this.ignore(finding, reason.value.trim());
        },
      },
      reason,
      h("button", { class: "btn btn-s", text: "Dismiss" }),
    );
    const box = h("details", { class: "finding-aside" }, h("summary", { class: "note", text: "Dismiss …" }), form);
    box.addEventListener("toggle", () => box.open && reason.focus());
    return box;
  }

  async ignore({ code, where }, reason) {
    if (await this.ask({ code, where, reason })) announce(reason ? "dismissed" : "shown again");
  }

  /* Repeated clicks go through the cells of a finding. */
  go(finding) {
    const key = `${finding.code}|${finding.where}`;
    const k = (this.visited.get(key) ?? -1) + 1;
    const [item, condition, region] = finding.cells[k % finding.cells.length];
    this.visited.set(key, k);
    this.editor.goTo(item, condition, region);
  }
}
