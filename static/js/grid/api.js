/* The REST API as the sheet uses it. A problem is an ApiError with its status; no answer at all has status 0. */

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/* The cookie comes first: signing in again in another tab makes a new one, and the page's own field grows old. */
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
    throw new ApiError(0, "the server cannot be reached");
  }
  const text = await answer.text().catch(() => "");
  let data = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    /* a page, not data */
  }
  if (answer.status >= 400 && data?.code !== "edit-conflict") {
    throw new ApiError(answer.status, data?.detail ?? `the server answered ${answer.status}`);
  }
  const etag = answer.headers.get("ETag")?.replace(/^W\//, ""); // a proxy that packs the answer makes it a weak one
  return { status: answer.status, data, etag };
}

/* A form for a page of the site, which answers with data, or with a piece of a page to be shown. */
export async function post(url, body) {
  const answer = await fetch(url, {
    method: "POST",
    body,
    headers: { "X-CSRFToken": csrfToken() },
    credentials: "same-origin",
  }).catch(() => {
    throw new ApiError(0, "the server cannot be reached");
  });
  if (answer.redirected) throw new ApiError(401, "you are signed out: sign in again in another tab");
  if (!answer.ok) throw new ApiError(answer.status, `the server answered ${answer.status}`);
  if (answer.headers.get("Content-Type").includes("json")) return { data: await answer.json() };
  return { page: new DOMParser().parseFromString(await answer.text(), "text/html") };
}

const PAGE = 500;

/* The whole draft, page by page; one is opened when there is none any more. onPage(draft, rows) hears each page. When
   somebody changes the draft meanwhile, it begins anew. `known`: everything but the rows, as it came with the page. */
/**
 * @param {{draft: string, cells: string}} endpoints
 * @param {(draft: any, rows: any[]) => void} [onPage]
 * @param {any} [known]
 */
export async function loadDraft({ draft, cells }, onPage = () => {}, known = null) {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const head =
      known && attempt === 0 ? { data: known, etag: `"r${known.revision}v${known.version}"` } : call("GET", draft);
    const both = Promise.all([head, call("GET", `${cells}?limit=${PAGE}`)]);
    const found = await both.catch((error) => {
      if (error.status !== 404 || attempt) throw error;
    });
    if (!found) {
      await call("POST", draft);
      continue;
    }
    const [{ data: first, etag }] = found;
    let page = found[1];
    const rows = [];
    while (page.etag === etag) {
      rows.push(...page.data.results);
      onPage(first, page.data.results);
      if (!page.data.next) return { ...first, rows };
      page = await call("GET", cells + new URL(page.data.next).search);
    }
  }
  throw new ApiError(0, "somebody changes this suite faster than it can be read");
}
