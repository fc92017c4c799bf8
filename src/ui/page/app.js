// The frame of the dashboard: login, navigation, theme, state of the connection.

import {loadSession, logIn, logOut, session, whenSessionEnds, OfflineError} from "./api.js";
import * as format from "./format.js";
import {button, field, h, key, problem, replace} from "./parts.js";
import * as audit from "./audit.js";
import * as caller from "./caller.js";
import * as control from "./control.js";
import * as denials from "./denials.js";
import * as entries from "./entries.js";
import * as now from "./now.js";
import * as rules from "./rules.js";
import * as store from "./store.js";
import * as top from "./top.js";

// In the order of the navigation. `key`: pressed after g.
const PAGES = [
  {name: "now", key: "n", page: now},
  {name: "top", key: "t", page: top},
  {name: "caller", key: "c", page: caller},
  {name: "rules", key: "r", page: rules},
  {name: "entries", key: "e", page: entries},
  {name: "denials", key: "d", page: denials},
  {name: "audit", key: "a", page: audit},
  {name: "store", key: "s", page: store},
  {name: "control", key: "o", page: control},
];

const root = document.getElementById("app");
let current = null;  // {controller, name}

// ---- Theme

function applyTheme(theme) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function storedTheme() {
  try {
    return localStorage.getItem("sluice-theme");
  } catch {
    return null;
  }
}

function toggleTheme() {
  const isDark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = isDark ? "light" : "dark";
  applyTheme(theme);
  try {
    localStorage.setItem("sluice-theme", theme);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

// ---- Login

function showLogin(reason) {
  leave();
  document.title = "Log in \u2013 Sluice";
  const errors = h("div", {class: "errors"}, reason ? h("div", {class: "notice", role: "status"}, reason) : null);
  const token = h("input", {type: "password", name: "token", autocomplete: "current-password", required: true, spellcheck: "false", autofocus: true});
  const submit = h("button", {type: "submit", class: "primary"}, "Log in");
  const form = h("form", {class: "login", method: "post"},
    h("h1", {}, mark(), "Sluice"),
    field("Token", token, "The admin token, or one that an administrator made for you: sluice_\u2026"),
    errors, submit);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    try {
      await logIn(token.value);
      showFrame();
    } catch (error) {
      replace(errors, problem(error));
      token.select();
    } finally {
      submit.disabled = false;
    }
  });
  replace(root, h("main", {class: "alone", id: "main"}, form));
  token.focus();
}

// The server has no token, or does not take one here: nothing to log in with.
function showRefusal(reason) {
  leave();
  replace(root, h("main", {class: "alone", id: "main"}, h("div", {class: "login"},
    h("h1", {}, mark(), "Sluice"), h("div", {class: "notice bad", role: "alert"}, reason),
    button("Try again", start, {class: "primary"}))));
}

function mark() {
  return h("span", {class: "mark", "aria-hidden": "true"});
}

// ---- Frame

let banner = null;

function showFrame() {
  const links = PAGES.map(({name, page, key: letter}) =>
    h("a", {href: `#/${name}`, "data-page": name, title: `${page.title} (g ${letter})`}, page.title));
  banner = h("div", {class: "banner", role: "alert"});
  replace(root,
    h("header", {class: "top"}, h("div", {class: "bar-of-pages"},
      h("a", {class: "brand", href: "#/now"}, mark(), "Sluice"),
      h("nav", {"aria-label": "Pages"}, links),
      h("div", {class: "user"},
        h("span", {class: "who"}, key(session.name ?? ""), h("span", {class: "badge"}, session.role)),
        button("\u25d0", toggleTheme, {class: "plain", "aria-label": "Light or dark", title: "Light or dark"}),
        session.csrf ? button("Log out", endSession, {class: "plain"}) : null))),
    banner,
    h("main", {id: "main"}));
  route();
}

async function endSession() {
  try {
    await logOut();
  } finally {
    showLogin("You are logged out.");
  }
}

// An error of the connection, and since when what is shown is old. Null: all is well.
function report(error, since) {
  if (!banner) return;
  if (!error) {
    if (banner.textContent) replace(banner);
    return;
  }
  const text = since ? `${error.message} Shown is the state of ${format.timeOfDay(new Date(since))}. Trying again.` : `${error.message} Trying again.`;
  if (banner.textContent !== text) replace(banner, text);
}

function leave() {
  current?.controller.abort();
  current = null;
}

function route() {
  if (!session.authenticated) return;
  const name = location.hash.replace(/^#\/?/, "").split("/")[0];
  const target = PAGES.find((page) => page.name === name) ?? PAGES[0];
  leave();
  const controller = new AbortController();
  current = {controller, name: target.name};
  document.title = `${target.page.title} \u2013 Sluice`;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.page === target.name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const main = document.getElementById("main");
  main.className = "";
  main.dataset.page = target.name;
  target.page.show(main, {signal: controller.signal, report, go, state: history.state});
  main.querySelector("h1")?.focus({preventScroll: true});
  scrollTo(0, 0);
}

// Opens a page. `state` stays out of the address, since it may have a caller's key.
export function go(name, state = null) {
  history.pushState(state, "", `#/${name}`);
  route();
}

// ---- Keyboard

let prefix = false;

function onKey(event) {
  const typing = event.target.closest?.("input, textarea, select, dialog");
  if (event.ctrlKey || event.metaKey || event.altKey || typing || !session.authenticated) return;
  if (prefix) {
    prefix = false;
    const target = PAGES.find((page) => page.key === event.key);
    if (target) {
      event.preventDefault();
      go(target.name);
    }
  } else if (event.key === "g") {
    prefix = true;
    setTimeout(() => { prefix = false; }, 1500);
  }
}

// ---- Start

async function start() {
  try {
    await loadSession();
  } catch (error) {
    showRefusal(error instanceof OfflineError ? error.message : `${error.message}`);
    return;
  }
  if (session.authenticated) showFrame();
  else if (session.needs_token && !session.reason?.includes("plaintext")) showLogin();
  else showRefusal(session.reason);
}

applyTheme(storedTheme());
whenSessionEnds((reason) => {
  if (!session.authenticated) return;
  session.authenticated = false;
  showLogin(`Your session has ended: ${reason}`);
});
addEventListener("hashchange", route);
addEventListener("popstate", route);
addEventListener("keydown", onKey);
start();
