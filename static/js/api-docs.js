// Swagger UI for the site's API. Nothing is inline, because the Content-Security-Policy forbids it.
const place = document.getElementById("api");
const csrf = () =>
  document.cookie
    .split("; ")
    .find((cookie) => cookie.startsWith("csrftoken="))
    ?.split("=")[1];

// Dark mode of Swagger UI, by the site's theme switch or the system's preference.
const system = window.matchMedia("(prefers-color-scheme: dark)");
const applyTheme = () => {
  const { theme } = document.documentElement.dataset;
  document.documentElement.classList.toggle("dark-mode", theme ? theme === "dark" : system.matches);
};
applyTheme();
system.addEventListener("change", applyTheme);

window.SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  requestInterceptor: (request) => {
    if (csrf() && new URL(request.url, location.href).origin === location.origin) {
      request.headers["X-CSRFToken"] = csrf();
    }
    return request;
  },
});
