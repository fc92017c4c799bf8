// Control: whether limits are enforced, the log level, tokens, and the session of this page.

import {get, may, poll, request, send, session, ApiError} from "./api.js";
import * as format from "./format.js";
import {badge, button, dialog, empty, expiry, facts, field, freshness, h, key, lifeField, panel, problem, replace, select, table, time, toast, visible} from "./parts.js";

export const title = "Control";

const ENFORCEMENTS = [["on", "on"], ["shadow", "shadow: decide and count, deny nothing"], ["off", "off: decide nothing"]];
const LEVELS = ["error", "warn", "info", "debug"];
const ROLES = [["checker", "checker: checks only"], ["viewer", "viewer: reads"], ["operator", "operator: callers, entries"], ["editor", "editor: rules, enforcement"], ["admin", "admin: tokens, too"]];
const TOKEN_LIVES = [["24h", "24 hours"], ["720h", "30 days"], ["2160h", "90 days"], ["8760h", "1 year"], ["never", "never"]];

// What an enforcement means for callers.
export function describe(enforcement) {
  return {on: "limits are enforced.", shadow: "limits are evaluated and counted, but no call is denied.", off: "limits are not evaluated, and every call is allowed."}[enforcement] ?? "";
}

function enforcementBadge(enforcement) {
  return badge(enforcement, enforcement === "on" ? "good" : "warn");
}

function expiryText(at) {
  return at ? h("time", {datetime: at, title: format.fullTime(at)}, format.relative(at)) : "never";
}

// ---- Enforcement

function enforcementPanel(refresh) {
  const view = panel("Enforcement");
  const canSet = may("editor", true);
  let drawn = "";

  function ask(hasFleet) {
    const wanted = select(ENFORCEMENTS, "shadow", {name: "enforcement"});
    const where = select([...(hasFleet ? [["fleet", "all servers"]] : []), ["node", "this server only"]], hasFleet ? "fleet" : "node", {name: "where", onchange: () => showFields()});
    const life = lifeField("1h");
    const reason = h("input", {name: "reason", maxlength: "300"});
    const record = h("div", {class: "stack"}, field("Ends", life, "Then the setting of each server applies again"), field("Reason", reason, "For other operators, and the audit log"));
    const note = h("small", {}, "Until the server restarts, or it is changed again.");
    function showFields() {
      record.hidden = where.value !== "fleet";
      note.hidden = where.value === "fleet";
    }
    showFields();
    dialog({
      title: "Change the enforcement", action: "Change", danger: true,
      intro: "Without enforcement no limit protects what is behind it.",
      fields: [h("div", {class: "row"}, field("Enforcement", wanted), field("Where", where)), record, note],
      submit: async () => {
        if (where.value === "fleet") {
          await send("PUT", "/admin/v1/enforcement", {enforcement: wanted.value, expires_at: expiry(life.value), message: reason.value});
        } else {
          await send("PUT", "/admin/enforcement", {enforcement: wanted.value});
        }
        toast(`Enforcement is ${wanted.value} ${where.value === "fleet" ? "on all servers" : "on this server"}.`, wanted.value === "on" ? "good" : "warn");
        refresh();
      },
    });
  }

  function askEnd() {
    dialog({
      title: "End the enforcement of all servers?", action: "End", danger: true, fields: [],
      intro: "Each server applies its own setting again.",
      submit: async () => {
        await send("DELETE", "/admin/v1/enforcement");
        toast("Each server applies its own setting.");
        refresh();
      },
    });
  }

  return {
    element: view.element,
    async load(signal) {
      const own = await get("/admin/enforcement", {signal});
      let fleet = null;
      let hasFleet = true;
      try {
        ({fleet} = await get("/admin/v1/enforcement", {signal}));
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== "READ_ONLY_SOURCE") throw error;
        hasFleet = false;
      }
      const text = JSON.stringify([own, fleet, hasFleet]);
      if (text === drawn && !fleet?.expires_at) return;
      const focused = [...view.body.querySelectorAll("button")].indexOf(document.activeElement);
      drawn = text;
      replace(view.body, h("div", {class: "stack"},
        facts([
          ["This server", [enforcementBadge(own.enforcement), ` ${describe(own.enforcement)}`]],
          ["All servers", hasFleet ? fleet ? enforcementBadge(fleet.enforcement) : "not set: each server applies its own setting" : null],
          ["Ends", fleet ? expiryText(fleet.expires_at) : null],
          ["Set by", fleet ? [key(fleet.author), " ", time(fleet.since)] : null],
          ["Reason", fleet?.message ? visible(fleet.message) : null]]),
        canSet ? h("div", {class: "buttons left"}, button("Change enforcement\u2026", () => ask(hasFleet)), fleet ? button("End\u2026", askEnd) : null) : null));
      view.body.querySelectorAll("button")[focused]?.focus();
    },
  };
}

// ---- Log level

function logPanel(refresh) {
  const view = panel("Log level of this server");
  let drawn = null;
  return {
    element: view.element,
    async load(signal) {
      const {level} = await get("/admin/log-level", {signal});
      if (level === drawn) return;
      drawn = level;
      if (!may("operator", true)) {
        replace(view.body, badge(level));
        return;
      }
      const errors = h("div", {class: "errors"});
      const wanted = select(LEVELS, level, {name: "level", onchange: async () => {
        try {
          await send("PUT", "/admin/log-level", {level: wanted.value});
          toast(`The log level is ${wanted.value}.`);
          replace(errors);
          drawn = wanted.value;
          refresh();
        } catch (error) {
          replace(errors, problem(error));
          wanted.value = level;
        }
      }});
      replace(view.body, h("div", {class: "stack"}, field("Level", wanted, "Until the server restarts"), errors));
    },
  };
}

// ---- Tokens

// The only time that the secret is shown.
function showSecret(answer) {
  const secret = h("input", {type: "text", readonly: true, name: "secret", value: answer.token, spellcheck: "false", class: "mono", onfocus: () => secret.select()});
  const copy = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(answer.token);
      toast("Copied.");
    } catch {
      secret.select();  // Not over plaintext from other machines.
    }
  });
  const view = dialog({
    title: "The new token", action: "Done",
    intro: [key(answer.name), ` has the role ${answer.role}. The token is not shown again: the server keeps only its hash.`],
    fields: [h("div", {class: "row"}, field("Token", secret), copy)],
    submit: async () => {},
  });
  view.querySelector(".buttons button").remove();
  view.addEventListener("close", () => { secret.value = ""; });
  secret.focus();
}

function tokensPanel(refresh) {
  const view = panel("Tokens");
  const isAllowed = may("admin", true);
  const list = table([
    {name: "Name", cell: (row) => key(row.name)},
    {name: "Role", cell: (row) => badge(row.role)},
    {name: "Scope", cell: (row) => row.scope ? key(row.scope) : "all"},
    {name: "Created", cell: (row) => [time(row.created_at), h("small", {}, " by "), key(row.author)]},
    {name: "Expires", cell: (row) => expiryText(row.expires_at)},
    {name: "Last used here", cell: (row) => row.last_used_at ? time(row.last_used_at) : "not yet"},
    {name: "", class: "actions", cell: (row) => button("Revoke\u2026", () => askRevoke(row), {class: "small", "aria-label": `Revoke token ${row.id}`})},
  ], {label: "Tokens", id: (row) => row.id, wide: true});

  function askCreate() {
    const name = h("input", {name: "name", required: true, maxlength: "64", autocomplete: "off"});
    const role = select(ROLES, "viewer", {name: "role"});
    const scope = h("input", {name: "scope", autocomplete: "off", placeholder: "all rules"});
    const life = select(TOKEN_LIVES, "2160h", {name: "life"});
    dialog({
      title: "Create a token", action: "Create",
      intro: "For a person or a program. It is sent as Authorization: Bearer, or entered at the login.",
      fields: [field("Name", name), field("Role", role),
        h("div", {class: "row"}, field("Only rules whose ids begin with", scope), field("Expires in", life))],
      submit: async () => {
        const body = {name: name.value, role: role.value, expires_at: expiry(life.value)};
        if (scope.value) body.scope = scope.value;
        const answer = await send("POST", "/admin/v1/tokens", body);
        showSecret(answer);
        refresh();
      },
    });
    name.focus();
  }

  function askRevoke(row) {
    dialog({
      title: "Revoke this token?", action: "Revoke", danger: true, fields: [],
      intro: [key(row.name), ` (${row.role}): requests with it are refused at once, and its sessions of the dashboard end.`],
      submit: async () => {
        await request(`/admin/v1/tokens/${encodeURIComponent(row.id)}`, {method: "DELETE"});
        toast("The token is revoked.");
        refresh();
      },
    });
  }

  return {
    element: view.element,
    async load(signal) {
      if (!isAllowed) {
        if (!view.body.firstChild) replace(view.body, empty("Only administrators see tokens", `You have the role ${session.role}.`));
        return;
      }
      try {
        const {tokens} = await get("/admin/v1/tokens", {signal});
        if (!view.tools.firstChild) replace(view.tools, button("New token\u2026", askCreate, {class: "small"}));
        list.show(tokens, "There are no tokens besides the setting admin.token.");
        if (list.element.parentNode !== view.body) replace(view.body, list.element);
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== "READ_ONLY_SOURCE") throw error;
        replace(view.body, empty("No tokens can be made here", "They are kept where rules come from a store (rules_source: store)."));
      }
    },
  };
}

// ---- This session

function sessionPanel() {
  const view = panel("You");
  view.body.classList.add("you");
  return {
    element: view.element,
    async load(signal) {
      const me = await get("/admin/v1/whoami", {signal});
      replace(view.body, facts([
        ["Name", key(me.name)], ["Role", badge(me.role)], ["Scope", me.scope ? key(me.scope) : "all rules"],
        ["Known by", me.authentication.replaceAll("_", " ")],
        ["Token expires", me.expires_at ? expiryText(me.expires_at) : "never"],
        ["Session ends", session.expires_at ? expiryText(session.expires_at) : null],
        ["Server", session.server_version ? key(session.server_version) : null]]));
    },
  };
}

export function show(main, {signal, report}) {
  const fresh = freshness(report);
  const refresh = () => again();
  const parts = [enforcementPanel(refresh), logPanel(refresh), sessionPanel(), tokensPanel(refresh)];
  replace(main, h("div", {class: "heading"}, h("h1", {tabindex: "-1"}, "Control"), h("p", {}, "Enforcement, logging, and who may do what.")),
    fresh.element,
    h("div", {class: "columns even"}, h("div", {}, parts[0].element, parts[1].element), parts[2].element), parts[3].element);
  const again = poll(5, signal, async (inner) => {
    const results = await Promise.allSettled(parts.map((part) => part.load(inner)));
    const failed = results.find((result) => result.status === "rejected");
    if (failed) fresh.fail(failed.reason);
    else fresh.succeed();
  });
}
