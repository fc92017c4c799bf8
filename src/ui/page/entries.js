// Entries: blocks, exceptions and other limits for single callers.

import {get, may, poll, query, send} from "./api.js";
import * as format from "./format.js";
import {attributes, badge, button, choice, dialog, expiry, field, freshness, h, key, lifeField, panel, replace, select, table, time, toast, visible} from "./parts.js";

export const title = "Entries";

const KINDS = {block: "bad", allow: "good", unlimited: "accent", limit: "accent", multiply: "accent"};

export function effectKind(effect) {
  return typeof effect === "string" ? effect : Object.keys(effect ?? {})[0] ?? "";
}

export function effectText(effect) {
  if (typeof effect === "string") return effect;
  if (effect?.limit !== undefined) return `limit ${effect.limit}`;
  if (effect?.multiply !== undefined) return `\u00d7\u2009${effect.multiply}`;
  return "";
}

export function effectBadge(effect) {
  return badge(effectText(effect), KINDS[effectKind(effect)] ?? "");
}

// How far a change has come.
function spread(answer) {
  return answer.of === undefined ? "" : `, on ${answer.applied} of ${answer.of} nodes`;
}

function newId(kind) {
  const random = crypto.getRandomValues(new Uint32Array(2));
  return `${kind}-${random[0].toString(36)}${random[1].toString(36)}`;
}

// Makes or changes an entry. `match`: the attributes that it begins with. Calls `done` with the stored entry.
export function editEntry({entry = null, match = {}, kind = "block", rule = "", done}) {
  const before = entry ?? {match, effect: kind, reason: "", rule};
  const conditions = Object.entries(before.match);
  if (!conditions.length) conditions.push(["api_key", ""]);
  const lines = h("div", {class: "stack"});
  const addLine = ([name, value]) => {
    const operator = typeof value === "object" ? Object.keys(value)[0] : "equals";
    const text = typeof value === "object" ? Object.values(value)[0] : value;
    const line = h("div", {class: "row condition"},
      field("Attribute", h("input", {name: "attribute", value: name, required: true, list: "attribute-names", autocomplete: "off"})),
      field("Match", select([["equals", "equals"], ["glob", "glob"], ["cidr", "network"]], operator, {name: "operator"})),
      field("Value", h("input", {name: "value", value: text, required: true, autocomplete: "off", spellcheck: "false"})),
      button("\u00d7", () => line.remove(), {class: "plain", "aria-label": "Remove this condition"}));
    lines.append(line);
  };
  conditions.forEach(addLine);
  const amount = h("input", {name: "amount", autocomplete: "off", value: before.effect?.limit ?? before.effect?.multiply ?? ""});
  const amountField = field("Limit", amount, "Such as 50 per hour");
  const status = select([["403", "403 Forbidden"], ["429", "429 Too Many Requests"]], String(before.status ?? 403), {name: "status"});
  const statusField = field("Answer to blocked calls", status);
  const ruleInput = h("input", {name: "rule", value: before.rule ?? "", autocomplete: "off"});
  const reason = h("input", {name: "reason", value: before.reason ?? "", maxlength: "512"});
  const life = lifeField(entry && !entry.expires_at ? "never" : "24h");
  const effect = select([["block", "block"], ["allow", "allow: no rule is evaluated"], ["unlimited", "unlimited: counted, never denied"], ["limit", "another limit"], ["multiply", "limit times a factor"]],
    effectKind(before.effect), {name: "effect", onchange: () => showFields()});
  function showFields() {
    amountField.hidden = !["limit", "multiply"].includes(effect.value);
    amount.required = !amountField.hidden;
    amountField.querySelector("label").textContent = effect.value === "multiply" ? "Factor" : "Limit";
    amountField.querySelector("small").textContent = effect.value === "multiply" ? "Such as 2, or 0.5" : "Such as 50 per hour";
    if (effect.value === "multiply" && !amount.value) amount.value = "2";
    statusField.hidden = effect.value !== "block";
  }
  showFields();
  const view = dialog({
    title: entry ? `Change entry ${entry.id}` : {block: "Block a caller", multiply: "Raise a caller's limits"}[kind] ?? "New entry", action: entry ? "Save" : kind === "block" ? "Block" : "Create",
    danger: kind === "block" && !entry, wide: true,
    intro: "All conditions must match. The entry is active on all nodes within two seconds.",
    fields: [lines, button("Add a condition", () => addLine(["", ""]), {class: "small start"}), attributeNames(),
      h("div", {class: "row"}, field("Effect", effect), amountField, statusField),
      h("div", {class: "row"}, field("Only rule", ruleInput, "Empty: all rules"), field(entry ? "Expires, from now" : "Expires in", life)),
      field("Reason", reason, "For other operators, and the audit log")],
    submit: async () => {
      const matched = Object.fromEntries([...lines.children].map((line) => {
        const [name, operator, value] = ["attribute", "operator", "value"].map((part) => line.querySelector(`[name=${part}]`).value);
        return [name, operator === "equals" ? value : {[operator]: value}];
      }));
      const id = entry?.id ?? newId(effect.value);
      const body = {
        match: matched, rule: ruleInput.value || null, reason: reason.value, expires_at: expiry(life.value),
        effect: effect.value === "limit" ? {limit: amount.value} : effect.value === "multiply" ? {multiply: Number(amount.value)} : effect.value,
      };
      if (effect.value === "block") body.status = Number(status.value);
      const answer = await send("PUT", `/admin/v1/entries/${encodeURIComponent(id)}?wait=2s`, body);
      toast(`Entry ${id} is stored${spread(answer)}.`, answer.applied < answer.of ? "warn" : "good");
      done?.();
    },
  });
  ([...lines.querySelectorAll("[name=value]")].find((input) => !input.value) ?? (amountField.hidden ? reason : amount)).focus();
  return view;
}

export function attributeNames() {
  return h("datalist", {id: "attribute-names"}, ["api_key", "ip", "user", "key", "endpoint", "method", "host", "tier"].map((name) => h("option", {value: name})));
}

export function removeEntry(entry, done) {
  dialog({
    title: "Remove this entry?", action: "Remove", danger: true,
    intro: [effectBadge(entry.effect), " ", attributes(entry.match), entry.reason ? h("p", {}, visible(entry.reason)) : null],
    fields: [],
    submit: async () => {
      const answer = await send("DELETE", `/admin/v1/entries/${encodeURIComponent(entry.id)}?wait=2s`);
      toast(`Entry ${entry.id} is removed${spread(answer)}.`, answer.applied < answer.of ? "warn" : "good");
      done?.();
    },
  });
}

// The step of a penalty, how often its caller offended, and whether it is only reported.
function penaltyBadges({step, offenses, shadow}) {
  return [" ", badge(`penalty, step ${step}`, "warn"), offenses > 1 ? h("small", {}, `${format.count(offenses)} offenses`) : null,
    shadow ? badge("shadow") : null];
}

export function entryColumns(onChange) {
  const columns = [
    {name: "Matches", cell: (row) => Object.keys(row.match ?? {}).length ? attributes(row.match) : "every call"},
    {name: "Effect", cell: (row) => [effectBadge(row.effect), ...(row.penalty ? penaltyBadges(row.penalty) : [])]},
    {name: "Rule", cell: (row) => row.rule ? key(row.rule) : "all"},
    {name: "Reason", cell: (row) => [h("span", {class: "clamped", title: visible(row.reason)}, visible(row.reason) || format.none), h("small", {}, "by ", key(row.author))], class: "reason"},
    {name: "Expires", cell: (row) => row.expires_at ? h("time", {datetime: row.expires_at, title: format.fullTime(row.expires_at)}, format.relative(row.expires_at)) : "never"},
    {name: "Last used", cell: (row) => row.last_used ? time(row.last_used) : "not yet"},
  ];
  if (may("operator")) {
    columns.push({name: "", class: "actions", cell: (row) => [
      row.penalty ? null : button("Change\u2026", () => editEntry({entry: row, kind: effectKind(row.effect), done: onChange}), {class: "small", "aria-label": `Change entry ${row.id}`}),
      button(effectKind(row.effect) === "block" ? "Unblock\u2026" : "Remove\u2026", () => removeEntry(row, onChange), {class: "small", "aria-label": `Remove entry ${row.id}`})]});
  }
  return columns;
}

export function show(main, {signal, report}) {
  const list = panel("Entries");
  const fresh = freshness(report);
  const more = h("div", {class: "more"});
  const search = h("input", {type: "search", placeholder: "attribute=value", autocomplete: "off", spellcheck: "false", onchange: () => restart()});
  const kind = choice("Effect", [["", "All"], ["block", "Blocks"], ["allow", "Allows"], ["limit", "Limits"], ["multiply", "Factors"], ["unlimited", "Unlimited"]], "", () => restart());
  const origin = choice("Origin", [["", "All"], ["operator", "Operators"], ["penalty", "Penalties"]], "", () => restart());
  const entries = table(entryColumns(() => refresh()), {label: "Entries", id: (row) => row.id, wide: true});
  let pages = 1;

  replace(main, h("div", {class: "heading"}, h("h1", {tabindex: "-1"}, "Entries"),
    h("p", {}, "What is decided for single callers before any rule."),
    may("operator") ? button("New entry\u2026", () => editEntry({done: () => refresh()}), {class: "primary"}) : null),
    h("div", {class: "filters"}, field("Search", search), h("div", {class: "field"}, h("span", {class: "label"}, "Effect"), kind.element),
      h("div", {class: "field"}, h("span", {class: "label"}, "Origin"), origin.element)),
    fresh.element, list.element);
  replace(list.body, entries.element, more);

  function restart() {
    pages = 1;
    refresh();
  }

  const refresh = poll(5, signal, async (inner) => {
    try {
      const rows = [];
      let cursor = null;
      let total = null;
      for (let i = 0; i < pages; ++i) {
        const answer = await get(`/admin/v1/entries${query({match: search.value, effect: kind.value, origin: origin.value, cursor, limit: 100})}`, {signal: inner});
        rows.push(...answer.entries);
        total = answer.total ?? answer.count ?? total;
        cursor = answer.cursor ?? answer.next;
        if (!cursor) break;
      }
      const filtered = search.value || kind.value || origin.value;
      entries.show(rows, filtered ? "No entry matches this search." : "There are no entries: every call is decided by the rules.");
      replace(list.tools, total !== null ? `${format.count(total)} in all` : cursor ? `the first ${format.count(rows.length)}` : `${format.count(rows.length)} in all`);
      replace(more, cursor ? button("Show more", () => { ++pages; refresh(); }, {class: "small"}) : null);
      fresh.succeed();
    } catch (error) {
      fresh.fail(error);
    }
  });
}
