/* Apply a stored theme before the first paint, to avoid a flash. Modules run too late for that. */
(() => {
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    /* storage is blocked: use the system's preference */
  }
})();
