/* JSON to and from the server. A refusal is an ApiError with its status; no answer at all has status 0. */

export class ApiError extends Error {
  constructor(status, message, body = null) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

/* The cookie comes first: signing in again in another tab makes a new one, and the page's own field grows old. */
function csrfToken() {
  const cookie = /(?:^|; )(?:__Host-|__Secure-)?csrftoken=([^;]+)/.exec(document.cookie)?.[1];
  return cookie ?? document.querySelector("input[name=csrfmiddlewaretoken]")?.value ?? "";
}

export async function call(method, url, body, { signal, keepalive = false } = {}) {
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
      keepalive,
      credentials: "same-origin",
      redirect: "manual",
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
  if (answer.type === "opaqueredirect") throw new ApiError(401, "you are signed out");
  if (answer.status >= 400 && answer.status !== 409) {
    throw new ApiError(answer.status, data?.message ?? data?.detail ?? data?.error ?? `the server answered ${answer.status}`, data);
  }
  return { status: answer.status, data };
}

const PAGE = 500;

/* The whole draft, page by page. onPage(draft, rows) hears each; the first brings everything but the later rows.
   When somebody changes the draft meanwhile, it begins anew. */
export async function loadDraft(url, onPage = () => {}) {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const { data: first } = await call("GET", `${url}?offset=0&limit=${PAGE}`);
    const rows = [...first.rows];
    onPage(first, first.rows);
    let steady = true;
    while (rows.length < first.n_rows && steady) {
      const { data } = await call("GET", `${url}?offset=${rows.length}&limit=${PAGE}`);
      steady = data.version === first.version && data.rows.length > 0;
      if (!steady) break;
      rows.push(...data.rows);
      onPage(first, data.rows);
    }
    if (steady) return { ...first, rows };
  }
  throw new ApiError(0, "somebody changes this suite faster than it can be read");
}
