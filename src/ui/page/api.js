// Requests to the server that this page came from.

export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `The server answered ${status}.`);
    this.status = status;
    this.problem = problem;
    this.code = problem.code ?? "";
    this.field = problem.field ?? "";
  }
}

// The server can't be reached.
export class OfflineError extends Error {}

export const session = {authenticated: false, role: null, scope: null, csrf: null};

const ROLES = ["none", "checker", "viewer", "operator", "editor", "admin"];

// Whether the session has at least this role. `everywhere`: for changes that a token with a scope can't make.
export function may(role, everywhere = false) {
  return session.authenticated && ROLES.indexOf(session.role) >= ROLES.indexOf(role) && !(everywhere && session.scope);
}

let onEnd = () => {};
export function whenSessionEnds(handler) {
  onEnd = handler;
}

async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return {};
  }
}

// options: method, json (a value), body (a text) with type, headers, signal, accept.
export async function request(path, options = {}) {
  const headers = {Accept: options.accept ?? "application/json", ...options.headers};
  let body = options.body;
  if (options.json !== undefined) {
    body = JSON.stringify(options.json);
    headers["Content-Type"] = "application/json";
  } else if (options.type) {
    headers["Content-Type"] = options.type;
  }
  const method = options.method ?? "GET";
  if (method !== "GET" && session.csrf) headers["X-CSRF-Token"] = session.csrf;
  let response;
  try {
    response = await fetch(path, {
      method, headers, body, signal: options.signal, cache: "no-store", credentials: "same-origin", redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new OfflineError("The server does not answer.");
  }
  if (response.ok) return response;
  const error = new ApiError(response.status, await problemOf(response));
  error.headers = response.headers;
  if (response.status === 401 && path !== "/dashboard/session") onEnd(error.message);
  throw error;
}

export async function get(path, options) {
  return (await request(path, options)).json();
}

export async function send(method, path, json, options) {
  const response = await request(path, {method, json, ...options});
  const text = await response.text();
  const type = response.headers.get("Content-Type") ?? "";
  return text && type.includes("json") ? JSON.parse(text) : text;
}

// Every object of a response of JSON lines.
export async function lines(path, options) {
  const text = await (await request(path, {accept: "application/x-ndjson", ...options})).text();
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

export function query(parameters) {
  const known = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return known.length ? `?${new URLSearchParams(known)}` : "";
}

// Names of members as words with underscores, whichever way an answer writes them. What clients chose stays as it is.
export function snake(value) {
  if (Array.isArray(value)) return value.map(snake);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => {
    const isClients = name === "attributes" || name === "match";
    return [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), isClients ? inner : snake(inner)];
  }));
}

async function readSession(response) {
  Object.assign(session, await response.json());
  return session;
}

export async function loadSession() {
  return readSession(await request("/dashboard/session"));
}

export async function logIn(token) {
  return readSession(await request("/dashboard/session", {method: "POST", json: {token}}));
}

export async function logOut() {
  await request("/dashboard/session", {method: "DELETE"});
  Object.assign(session, {authenticated: false, role: null, csrf: null});
}

// Calls `load` now and then every `seconds`, until the signal; not while the page is hidden. `load` gets the signal. Returns a
// function that calls it at once, or as soon as the call under way is done.
export function poll(seconds, signal, load) {
  let timer = null;
  let running = false;
  let again = false;
  const run = async () => {
    clearTimeout(timer);
    if (signal.aborted) return;
    if (running) {
      again = true;
      return;
    }
    if (!document.hidden) {
      running = true;
      try {
        await load(signal);
      } catch (error) {
        if (error.name !== "AbortError") throw error;
      } finally {
        running = false;
        if (!signal.aborted) timer = setTimeout(run, again ? 0 : seconds * 1000);
        again = false;
      }
    } else {
      timer = setTimeout(run, seconds * 1000);
    }
  };
  const onVisible = () => !document.hidden && run();
  document.addEventListener("visibilitychange", onVisible);
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", onVisible);
  });
  run();
  return run;
}
