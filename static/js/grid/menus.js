/* Actions on the current item, condition and region: menus of the toolbar, and a context menu at the cell (right click, Shift+F10
   or the menu key). */

import { clipboardCommand, pasteFromMenu } from "./clipboard.js";
import * as commands from "./commands.js";
import { arrows, h } from "./dom.js";
import { CONDITION, HEAD, ITEM } from "./selection.js";

export function menuGroups(editor) {
  const { doc } = editor;
  const here = editor.here();
  const { item, condition, region } = here;
  const perform = (entry, where) => () => editor.perform(entry(), where);
  const edit = (r, c) => () => editor.openCell(r, c);
  const chosen = editor.chosenItems();
  const at = item === undefined ? doc.items.length : doc.items.indexOf(item);
  const c = doc.conditions.indexOf(condition);
  const first = doc.conditions.findIndex((name) => !doc.isHidden(item, name));
  const added = { item: doc.nextNumber(), c: 0 };
  const remove = (title, users, make) => () => editor.remove({ title, users }, make());
  const opened = (make) => () => {
    const entry = make();
    editor.performAndOpen(entry, { item, condition: entry.ops[0].name, c: CONDITION });
  };
  const groups = [
    {
      id: "item",
      title: item === undefined ? "Item" : `Item ${item}`,
      actions: [
        ["Add below", perform(() => commands.insertItem(doc, Math.min(at + 1, doc.items.length)), added)],
        ...(item === undefined
          ? []
          : [
              ["Add above", perform(() => commands.insertItem(doc, at), added)],
              ["Duplicate", perform(() => commands.duplicateItem(doc, item), added)],
              ["Move up", perform(() => commands.moveItem(doc, item, -1)), "Alt+Shift+↑"],
              ["Move down", perform(() => commands.moveItem(doc, item, 1)), "Alt+Shift+↓"],
              ["Change its number", edit(doc.rowOf(item, doc.conditions[first]), ITEM)],
              [
                chosen.length > 1 ? `Delete ${chosen.length} items` : "Delete",
                perform(() => commands.deleteItems(chosen)),
                "",
                "danger",
              ],
            ]),
      ],
    },
  ];
  if (condition !== undefined) {
    groups.push({
      id: "condition",
      title: condition,
      actions: [
        ["Rename", edit(Math.max(0, here.r), CONDITION), "F2"],
        ["Add below", opened(() => commands.insertCondition(doc, c + 1))],
        ["Add above", opened(() => commands.insertCondition(doc, c))],
        ["Duplicate", opened(() => commands.duplicateCondition(doc, condition))],
        ["Move up", perform(() => commands.moveCondition(doc, condition, -1))],
        ["Move down", perform(() => commands.moveCondition(doc, condition, 1))],
        [
          "Delete",
          remove(`Delete condition ${condition}?`, commands.usersOfCondition(doc, condition), () =>
            commands.deleteCondition(doc, condition),
          ),
          "",
          "danger",
        ],
      ],
    });
  }
  if (region !== undefined) {
    const [before, after, back, on] = editor.view.rightToLeft
      ? ["right", "left", "→", "←"]
      : ["left", "right", "←", "→"];
    groups.push({
      id: "region",
      title: `${region} ${doc.regions[region - 1]}`,
      actions: [
        ["Rename", edit(HEAD, region - 1), "F2"],
        [
          `Add to the ${after}`,
          () => editor.performAndOpen(commands.insertRegion(doc, region + 1), { r: HEAD, c: region }),
        ],
        [
          `Add to the ${before}`,
          () => editor.performAndOpen(commands.insertRegion(doc, region), { r: HEAD, c: region - 1 }),
        ],
        ["Duplicate", () => editor.performAndOpen(commands.duplicateRegion(doc, region), { r: HEAD, c: region })],
        [`Move ${before}`, perform(() => commands.moveRegion(doc, region, -1)), `Alt+Shift+${back}`],
        [`Move ${after}`, perform(() => commands.moveRegion(doc, region, 1)), `Alt+Shift+${on}`],
        [
          "Delete",
          remove(`Delete region ${region} ${doc.regions[region - 1]}?`, commands.usersOfRegion(doc, region), () =>
            commands.deleteRegion(doc, region),
          ),
          "",
          "danger",
        ],
      ],
    });
  }
  return groups;
}

function clipboardGroup(editor) {
  return {
    id: "clipboard",
    title: "Cells",
    actions: [
      ["Cut", () => clipboardCommand(editor, "cut"), "Ctrl+X"],
      ["Copy", () => clipboardCommand(editor, "copy"), "Ctrl+C"],
      ["Paste", () => pasteFromMenu(editor), "Ctrl+V"],
      ["Fill down", () => editor.fillDown(), "Ctrl+D"],
    ],
  };
}

function buttons(editor, group, close) {
  return group.actions.map(([label, run, keys = "", look = ""]) =>
    h(
      "button",
      {
        type: "button",
        class: look === "danger" ? "is-danger" : "",
        onclick: () => {
          close();
          run();
          if (!editor.keyboard.editing) editor.view.place(true);
        },
      },
      h("span", { text: label }),
      keys ? h("kbd", { text: keys }) : null,
    ),
  );
}

export function attachMenus(editor, root) {
  for (const menu of root.querySelectorAll("details[data-grid-menu]")) {
    const list = menu.querySelector(".menu-list");
    arrows(list);
    menu.addEventListener("toggle", () => {
      if (!menu.open) return;
      for (const other of root.querySelectorAll("details[data-grid-menu][open]"))
        if (other !== menu) other.open = false;
      const group = menuGroups(editor).find((candidate) => candidate.id === menu.dataset.gridMenu);
      const close = () => (menu.open = false);
      list.replaceChildren(
        ...(group
          ? [h("p", { class: "menu-title", text: group.title }), ...buttons(editor, group, close)]
          : [h("p", { class: "menu-title", text: "Choose a cell first" })]),
      );
      list.querySelector("button")?.focus();
    });
  }
}

export class ContextMenu {
  constructor(editor, box) {
    this.editor = editor;
    this.box = box;
    arrows(box);
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" && event.key !== "Tab") return;
      event.preventDefault();
      this.close();
      editor.view.place(true);
    });
    document.addEventListener("mousedown", (event) => {
      if (!box.hidden && !box.contains(event.target)) this.close();
    });
  }

  close() {
    this.box.hidden = true;
  }

  open(x, y) {
    const close = () => this.close();
    this.box.replaceChildren(
      ...[clipboardGroup(this.editor), ...menuGroups(this.editor)].map((group) =>
        h(
          "div",
          { class: "menu-group", role: "group", "aria-label": group.title },
          h("p", { class: "menu-title", text: group.title }),
          ...buttons(this.editor, group, close),
        ),
      ),
    );
    this.box.hidden = false;
    const { width, height } = this.box.getBoundingClientRect();
    this.box.style.left = `${Math.max(4, Math.min(x, window.innerWidth - width - 4))}px`;
    this.box.style.top = `${Math.max(4, Math.min(y, window.innerHeight - height - 4))}px`;
    this.box.querySelector("button")?.focus();
  }
}
