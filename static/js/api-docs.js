// Swagger UI on the site's own description of its API. Nothing inline: the Content-Security-Policy allows none.
const place = document.getElementById("api");
const csrf = () =>
  document.cookie
    .split("; ")
    .find((one) => one.startsWith("csrftoken="))
    ?.split("=")[1];

// Swagger UI's dark dress, by the switch of the site or, without it, by the system.
const system = window.matchMedia("(prefers-color-scheme: dark)");
const dress = () => {
  const { theme } = document.documentElement.dataset;
  document.documentElement.classList.toggle("dark-mode", theme ? theme === "dark" : system.matches);
};
dress();
system.addEventListener("change", dress);

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
