/* Coloured text: show the predictions for the word under the pointer or the keyboard focus below the legend.
   Without scripts, the number of each line links to a table with the same predictions. */

function enhance(text) {
  const readout = document.querySelector("[data-lm-readout]");
  const words = [...text.querySelectorAll("[data-words]")];
  if (!readout || !words.length) return;
  readout.hidden = false;
  readout.textContent = "Point at a word, or move through the text with the arrow keys, to see its predictions.";
  const show = (word) => {
    readout.textContent = word.dataset.words;
  };
  let at = 0;
  for (const word of words) word.tabIndex = -1;
  words[0].tabIndex = 0;
  const go = (next) => {
    if (next < 0 || next >= words.length) return;
    words[at].tabIndex = -1;
    at = next;
    words[at].tabIndex = 0;
    words[at].focus();
  };
  const line = (step) => {
    const items = [...text.children];
    const here = items.indexOf(words[at].closest("li"));
    for (let k = here + step; k >= 0 && k < items.length; k += step) {
      const first = items[k].querySelector("[data-words]");
      if (first) return words.indexOf(first);
    }
    return -1;
  };
  const moves = {
    ArrowRight: () => at + 1,
    ArrowLeft: () => at - 1,
    ArrowDown: () => line(1),
    ArrowUp: () => line(-1),
    Home: () => 0,
    End: () => words.length - 1,
  };
  text.addEventListener("pointerover", (event) => {
    const word = event.target.closest("[data-words]");
    if (word) show(word);
  });
  text.addEventListener("focusin", (event) => {
    const word = event.target.closest("[data-words]");
    if (word) {
      at = words.indexOf(word);
      show(word);
    }
  });
  text.addEventListener("keydown", (event) => {
    if (!moves[event.key] || !event.target.closest("[data-words]") || event.ctrlKey || event.altKey || event.metaKey)
      return;
    event.preventDefault();
    go(moves[event.key]());
  });
}

for (const text of document.querySelectorAll("[data-lm-text]")) enhance(text);
