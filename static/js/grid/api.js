/* Calls of the REST API. Errors are ApiErrors with the HTTP status, or 0 if there was no response. */

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/* Prefer the cookie: signing in again in another tab renews it, and the page's own field becomes stale. */
function csrfToken() {
  const cookie = /(?:^|; )(?:__Host-|__Secure-)?csrftoken=([^;]+)/.exec(document.cookie)?.[1];
  return cookie ?? document.querySelector("input[name=csrfmiddlewaretoken]")?.value ?? "";
}

/**
 * @param {string} method
 * @param {string} url
 * @param {object} [body]
 * @param {{signal?: AbortSignal}} [options]
 */
export async function call(method, url, body, { signal } = {}) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET") headers["X-CSRFToken"] = csrfToken();
  let answer;
  try {
    answer = await fetch(url, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      credentials: "same-origin",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "no connection to the server");
  }
  const text = await answer.text().catch(() => "");
  let data = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    /* a page, not data */
  }
  if (answer.status >= 400 && data?.code !== "edit-conflict") {
    throw new ApiError(answer.status, data?.detail ?? `the server responded with ${answer.status}`);
  }
  const etag = answer.headers.get("ETag")?.replace(/^W\//, ""); // a compressing proxy makes it weak
  return { status: answer.status, data, etag };
}

/* Send a form to a page of the site; the response is data or a piece of a page. */
export async function post(url, body) {
  const answer = await fetch(url, {
    method: "POST",
    body,
    headers: { "X-CSRFToken": csrfToken() },
    credentials: "same-origin",
  }).catch(() => {
    throw new ApiError(0, "no connection to the server");
  });
  if (answer.redirected) throw new ApiError(401, "you are signed out: sign in again in another tab");
  if (!answer.ok) throw new ApiError(answer.status, `the server responded with ${answer.status}`);
  if (answer.headers.get("Content-Type").includes("json")) return { data: await answer.json() };
  return { page: new DOMParser().parseFromString(await answer.text(), "text/html") };
}

const PAGE = 500;

/**
 * Load the whole draft in pages; open one if there is none, and start again if the draft changes during the load.
 * @param {{draft: string, cells: string}} endpoints
 * @param {(draft: any, rows: any[]) => void} [onPage]
 * @param {any} [known] the draft without its rows, as embedded in the page
 */
export async function loadDraft({ draft, cells }, onPage = () => {}, known = null) {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const head =
      known && attempt === 0 ? { data: known, etag: `"r${known.revision}v${known.version}"` } : call("GET", draft);
    const both = Promise.all([head, call("GET", `${cells}?limit=${PAGE}`)]);
    const responses = await both.catch((error) => {
      if (error.status !== 404 || attempt) throw error;
    });
    if (!responses) {
      await call("POST", draft);
      continue;
    }
    const [{ data: first, etag }] = responses;
    let page = responses[1];
    const rows = [];
    while (page.etag === etag) {
      rows.push(...page.data.results);
      onPage(first, page.data.results);
      if (!page.data.next) return { ...first, rows };
      page = await call("GET", cells + new URL(page.data.next).search);
    }
  }
  throw new ApiError(0, "another editor is changing this suite faster than it can be loaded");
}
