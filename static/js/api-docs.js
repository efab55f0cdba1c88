// Swagger UI on the site's own description of its API. Nothing inline: the Content-Security-Policy allows none.
const place = document.getElementById("api");
const csrf = () => document.cookie.split("; ").find((one) => one.startsWith("csrftoken="))?.split("=")[1];

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
