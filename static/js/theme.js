/* The switch in the header: system -> light -> dark -> system. */

const ORDER = ["system", "light", "dark"];
const LABEL = { system: "Theme: system", light: "Theme: light", dark: "Theme: dark" };

export function nextTheme(theme) {
  return ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
}

function current() {
  return document.documentElement.dataset.theme ?? "system";
}

function apply(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === "system") localStorage.removeItem("theme");
    else localStorage.setItem("theme", theme);
  } catch {
    /* storage is blocked: the theme lasts for this page only */
  }
}

function show(button) {
  const theme = current();
  button.setAttribute("aria-label", `${LABEL[theme]}. Switch to ${nextTheme(theme)}`);
  button.title = LABEL[theme];
  for (const icon of button.querySelectorAll("[data-for-theme]")) {
    icon.toggleAttribute("hidden", icon.dataset.forTheme !== theme);
  }
}

for (const button of document.querySelectorAll("[data-theme-switch]")) {
  button.hidden = false;
  show(button);
  button.addEventListener("click", () => {
    apply(nextTheme(current()));
    show(button);
  });
}
