/* Mouse and touch: press to select, drag or Shift to extend, double click (second tap) to edit, right click for the menu. Touch
   scrolls; the on-screen keyboard opens with the second tap only. */

export function attachPointer(editor) {
  const { view, keyboard } = editor;
  const { table, input } = view;
  const coarse = window.matchMedia("(pointer: coarse)");
  const cellOf = (event) => event.target.closest?.("td, th")?.grid;
  let dragging = false;
  let touched = null;

  const quiet = () => {
    input.inputMode = coarse.matches ? "none" : "text";
  };
  quiet();
  input.addEventListener("blur", quiet);

  table.addEventListener("mousedown", (event) => {
    const at = cellOf(event);
    if (!at || event.button !== 0) return;
    if (event.target === input && keyboard.editing) return;
    event.preventDefault();
    if (!keyboard.commit()) return;
    dragging = !coarse.matches;
    if (coarse.matches && touched && touched.r === at.r && touched.c === at.c) {
      open();
      return;
    }
    touched = at;
    view.go(at.r, at.c, { extend: event.shiftKey });
  });
  table.addEventListener("mousemove", (event) => {
    if (!dragging || event.buttons !== 1) return;
    const at = cellOf(event);
    const { selection } = view.sheet;
    if (!at || at.r < 0 || at.c < 0 || (at.r === selection.r && at.c === selection.c)) return;
    if (at.c < editor.doc.regions.length) view.go(at.r, at.c, { extend: true });
  });
  window.addEventListener("mouseup", () => (dragging = false));
  table.addEventListener("dblclick", (event) => {
    if (cellOf(event) && !keyboard.editing) open();
  });
  table.addEventListener("contextmenu", (event) => {
    const at = cellOf(event);
    if (!at || keyboard.editing) return;
    event.preventDefault();
    const rect = editor.rect();
    const inside =
      editor.selection.isRange &&
      rect &&
      at.r >= rect.top &&
      at.r <= rect.bottom &&
      at.c >= rect.left &&
      at.c <= rect.right;
    if (!inside) view.go(at.r, at.c);
    editor.openMenu(event.clientX, event.clientY);
  });

  function open() {
    input.blur();
    input.inputMode = "text";
    view.place(true);
    keyboard.begin("opened", true);
  }
}
