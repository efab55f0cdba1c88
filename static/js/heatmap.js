/* Tables with data-heatmap: arrow keys move between cells, and a line below the table describes the current cell. Home and End
   move to the ends of the row (with Ctrl, of the table); Enter opens the cell. Without scripts it is a table of links. */

const MOVES = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

function wordsOf(table, cell) {
  const row = cell.parentElement;
  const head = table.tHead.rows[0].cells[cell.cellIndex];
  const name = row.cells[0].dataset.copy ?? row.cells[0].innerText.trim();
  return `${name}, ${head.innerText.trim()}: ${cell.dataset.words}`;
}

function enhance(table) {
  const cells = () => [...table.tBodies[0].rows].map((row) => [...row.cells].slice(1));
  const readout = table.closest("section, main").querySelector("[data-heatmap-readout]");
  table.setAttribute("role", "grid");
  for (const row of cells()) {
    for (const cell of row) {
      cell.tabIndex = -1;
      for (const link of cell.querySelectorAll("a")) link.tabIndex = -1;
    }
  }
  let current = cells()[0]?.[0];
  if (current) current.tabIndex = 0;
  if (readout) {
    readout.hidden = false;
    readout.textContent = "Point at a cell, or move through the table with the arrow keys, to see its description.";
  }

  const say = (cell) => {
    if (readout && cell?.dataset.words) readout.textContent = wordsOf(table, cell);
  };
  const go = (cell) => {
    if (!cell) return;
    if (current) current.tabIndex = -1;
    current = cell;
    cell.tabIndex = 0;
    cell.focus();
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const place = (cell) => {
    const rows = cells();
    const row = rows.findIndex((candidates) => candidates.includes(cell));
    return { rows, row, column: row < 0 ? -1 : rows[row].indexOf(cell) };
  };

  table.addEventListener("focusin", (event) => say(event.target.closest("td")));
  table.addEventListener("pointerover", (event) => say(event.target.closest("td")));
  table.addEventListener("keydown", (event) => {
    const cell = event.target.closest("tbody td");
    if (!cell || event.altKey || event.metaKey) return;
    const { rows, row, column } = place(cell);
    const move = MOVES[event.key];
    let next;
    if (move && !event.ctrlKey) next = rows[row + move[0]]?.[column + move[1]];
    else if (event.key === "Home") next = event.ctrlKey ? rows[0][0] : rows[row][0];
    else if (event.key === "End") next = event.ctrlKey ? rows.at(-1).at(-1) : rows[row].at(-1);
    else if (event.key === "PageDown") next = rows[Math.min(rows.length - 1, row + 10)][column];
    else if (event.key === "PageUp") next = rows[Math.max(0, row - 10)][column];
    else if (event.key === "Enter" && event.target === cell) {
      cell.querySelector("a")?.click();
      event.preventDefault();
      return;
    } else return;
    event.preventDefault();
    go(next);
  });
}

for (const table of document.querySelectorAll("table[data-heatmap]")) enhance(table);
