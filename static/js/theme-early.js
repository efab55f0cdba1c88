/* Runs before paint, so that a chosen theme does not flash. Not a module on purpose. */
(() => {
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    /* storage may be forbidden; the system's preference then decides */
  }
})();
