// Caller: the limits that one caller meets, and what can be done for it.

import {get, lines, may, query, request, send, session, snake, ApiError} from "./api.js";
import * as format from "./format.js";
import {attributes, badge, bar, button, dialog, expiry, field, h, key, lifeField, notice, panel, problem, replace, select, table, time, toast, visible} from "./parts.js";
import {keysPanel} from "./keys.js";
import {attributeNames, editEntry, effectKind, entryColumns} from "./entries.js";

export const title = "Caller";

// What identifies a caller; the others describe a call.
const IDENTITIES = ["api_key", "ip", "user", "key", "tls_subject", "tls_cn"];

function identityOf(values) {
  const chosen = Object.entries(values).filter(([name]) => IDENTITIES.includes(name));
  return Object.fromEntries(chosen.length ? chosen : Object.entries(values));
}

export function show(main, {signal, report, state, go}) {
  const lines_ = h("div", {class: "stack"});
  const errors = h("div", {class: "errors"});
  const result = h("div");
  let searched = null;

  function addLine(name = "api_key", value = "") {
    const isFirst = !lines_.childElementCount;
    const line = h("div", {class: "row condition"},
      field("Attribute", h("input", {name: "attribute", value: name, required: true, list: "attribute-names", autocomplete: "off"})),
      field("Value", h("input", {name: "value", value, required: true, autocomplete: "off", spellcheck: "false"})),
      isFirst ? h("button", {type: "submit", class: "primary"}, "Look up") : button("\u00d7", () => line.remove(), {class: "plain", "aria-label": "Remove this attribute"}));
    lines_.append(line);
    return line;
  }

  const form = h("form", {class: "search", onsubmit: (event) => { event.preventDefault(); search(); }},
    lines_, h("div", {class: "row tight"}, button("Add an attribute", () => addLine("endpoint", "").querySelector("[name=value]").focus(), {class: "plain small"}),
      h("small", {}, "Attributes of a call, such as endpoint or method, decide which rules match.")), attributeNames());
  replace(main, h("div", {class: "heading"}, h("h1", {tabindex: "-1"}, "Caller"), h("p", {}, "Any key: its limits, why they apply, and what can be done.")),
    h("section", {class: "panel"}, h("div", {class: "panel-body"}, form)), errors, result);

  const given = Object.entries(state?.attributes ?? {});
  if (given.length) given.forEach(([name, value]) => addLine(name, value));
  else addLine();
  if (given.length) search();
  else replace(result, keysPanel({signal, go}));

  function readAttributes() {
    return Object.fromEntries([...lines_.children].map((line) => [line.querySelector("[name=attribute]").value, line.querySelector("[name=value]").value]));
  }

  async function search() {
    searched = readAttributes();
    history.replaceState({attributes: searched}, "");
    await refresh();
  }

  async function refresh() {
    try {
      const answer = snake(await send("POST", "/admin/v1/keys:lookup", {attributes: searched}, {signal}));
      replace(errors);
      report(null);
      draw(answer);
      await Promise.all([drawEntries(answer), drawHistory()]);
    } catch (error) {
      if (error.name === "AbortError") return;
      replace(errors, problem(error));
    }
  }

  const entriesPanel = panel("Entries in force");
  const historyPanel = panel("Recent denials on this node");

  function draw(answer) {
    const limits = panel("Limits");
    const rows = table([
      {name: "Rule", cell: (row) => [key(row.rule), row.shadow ? [" ", badge("shadow")] : null]},
      {name: "Limit", cell: (row) => row.name ? key(row.name) : row.type ?? ""},
      {name: "Used", cell: (row) => row.rejects_all ? badge("rejects all", "bad")
        : h("span", {class: "used"}, bar(Math.max(0, row.used), row.limit), h("span", {class: "nowrap"}, format.count(row.used), h("small", {}, ` of ${format.count(row.limit)}`))), class: "wide-bar"},
      {name: "Left", cell: (row) => format.count(row.remaining), class: "number"},
      {name: "Full in", cell: (row) => row.live ? format.seconds(row.reset_after_ms / 1000) : "not used", class: "number"},
      {name: "Granted", cell: (row) => row.grant || row.expiring_grant ? [format.count(row.grant || row.expiring_grant), row.grant_expires_at ? h("small", {}, ` until ${format.when(row.grant_expires_at)}`) : null] : format.none, class: "number"},
      {name: "Leased", cell: (row) => row.leased ? format.count(row.leased) : format.none, class: "number"},
      {name: "Seen", cell: (row) => row.last_seen ? time(row.last_seen) : format.none},
      {name: "Denied", cell: (row) => row.last_denied ? time(row.last_denied) : format.none},
    ], {label: "Limits", wide: true});
    rows.show(answer.limits, answer.listed ? "No limit is evaluated: the caller is on a list." : "No rule matches these attributes.");
    replace(limits.body, answer.listed ? notice(`The caller is on the ${answer.listed} list of the rules.`, answer.listed === "deny" ? "bad" : "good") : null, rows.element);
    const explained = panel("Why");
    const why = table([
      {name: "Rule", cell: (row) => key(row.rule)},
      {name: "Outcome", cell: (row) => badge(row.outcome.replaceAll("_", " "), row.outcome === "matched" || row.outcome === "matches" ? "good" : "")},
      {name: "Reason", cell: (row) => visible(row.why) || format.none, class: "wide-cell"},
    ], {label: "Why rules match"});
    why.show(answer.explanation ?? [], "There are no rules.");
    replace(explained.body, why.element);
    if (answer.explanation_complete === false) replace(explained.tools, "not all rules are listed");
    replace(result, h("div", {class: "heading actions-row"}, attributes(searched), actions(answer)), limits.element, entriesPanel.element,
      h("div", {class: "columns even"}, explained.element, historyPanel.element));
  }

  function actions(answer) {
    if (!may("operator")) return null;
    const match = identityOf(searched);
    const rule = session.scope ? answer.limits.find((limit) => limit.rule.startsWith(session.scope))?.rule ?? "" : "";
    return h("div", {class: "row tight"},
      button("Block\u2026", () => editEntry({match, rule, kind: "block", done: refresh}), {class: "danger"}),
      button("Raise\u2026", () => editEntry({match, rule, kind: "multiply", done: refresh})),
      may("operator", true) ? [button("Grant\u2026", () => askGrant(answer)), button("Reset\u2026", () => askReset(answer))] : null);
  }

  function askGrant(answer) {
    const amount = h("input", {type: "number", min: "1", step: "1", value: "1000", required: true, name: "amount"});
    const rules = [...new Set(answer.limits.map((limit) => limit.rule))];
    const rule = select([["", "all that match"], ...rules.map((name) => [name, visible(name)])], "", {name: "rule"});
    const life = lifeField("24h");
    dialog({
      title: "Grant more", action: "Grant", intro: [attributes(searched), h("p", {}, "Units that the caller may use in addition to its limits.")],
      fields: [h("div", {class: "row"}, field("Units", amount), field("Rule", rule), field("Expire in", life))],
      submit: async () => {
        const body = {attributes: searched, amount: Number(amount.value), expires_at: expiry(life.value)};
        if (rule.value) body.rule = rule.value;
        await send("POST", "/admin/v1/grants", body);
        toast(`${format.count(Number(amount.value))} units are granted.`);
        await refresh();
      },
    });
  }

  function askReset(answer) {
    dialog({
      title: "Reset this caller?", action: "Reset", danger: true,
      intro: [attributes(searched), h("p", {}, `All ${answer.limits.length} limits become unused: what the caller consumed is forgotten.`)], fields: [],
      submit: async () => {
        await request(`/api/v1/rate-limit/reset${query(searched)}`, {method: "DELETE"});
        toast("The caller's limits are reset.");
        await refresh();
      },
    });
  }

  async function drawEntries(answer) {
    const list = table(entryColumns(refresh), {label: "Entries in force", wide: true});
    try {
      let rows = answer.entries;
      if (!rows) {
        const found = await Promise.all(Object.entries(identityOf(searched)).map(([name, value]) => get(`/admin/v1/entries${query({match: `${name}=${value}`, limit: 20})}`, {signal})));
        rows = found.flatMap((one) => one.entries);
      }
      list.show(rows, "None: the rules alone decide.");
      replace(entriesPanel.body, list.element);
      const blocked = rows.some((row) => effectKind(row.effect) === "block");
      replace(entriesPanel.tools, blocked ? badge("blocked", "bad") : null);
    } catch (error) {
      if (error instanceof ApiError) replace(entriesPanel.body, problem(error));
      else if (error.name !== "AbortError") throw error;
    }
  }

  async function drawHistory() {
    const list = table([
      {name: "Time", cell: (row) => time(row.time)},
      {name: "Rule", cell: (row) => row.rule ? key(row.rule) : badge(row.outcome)},
      {name: "Left", cell: (row) => row.numbers ? `${format.count(row.numbers.remaining)} of ${format.count(row.numbers.limit)}` : format.none, class: "number"},
      {name: "Wait", cell: (row) => (row.retry_after_ms ?? -1) < 0 ? format.none : format.seconds(row.retry_after_ms / 1000), class: "number"},
    ], {label: "Recent denials"});
    try {
      const values = Object.values(identityOf(searched));
      const found = await lines(`/admin/v1/denials${query({follow: 0, last: 20, key: values[0]})}`, {signal});
      const rows = found.map(snake).filter((row) => row.time).reverse();
      list.show(rows, "None in the memory of this node.");
      replace(historyPanel.body, list.element);
    } catch (error) {
      if (error instanceof ApiError) replace(historyPanel.body, problem(error));
      else if (error.name !== "AbortError") throw error;
    }
  }
}
