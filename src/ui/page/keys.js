// Live keys of the store, and the reset of many of them.

import {get, may, query, send, snake, ApiError} from "./api.js";
import * as format from "./format.js";
import {badge, button, dialog, field, h, key, panel, problem, replace, table, time} from "./parts.js";
import {guessAttributes} from "./top.js";

const RUNNING = ["running", "started", "queued", "waiting"];

function keyText(row) {
  return [row.key, ...(row.others ?? [])].join(" \u00b7 ");
}

function keyTable(go) {
  return table([
    {name: "Key", cell: (row) => go ? h("button", {type: "button", class: "link", onclick: () => go("caller", {attributes: guessAttributes(row.key)})}, key(keyText(row))) : key(keyText(row))},
    {name: "Rule", cell: (row) => row.rule ? key(row.rule) : "limits in requests"},
    {name: "Limit", cell: (row) => row.name ? key(row.name) : format.none},
    {name: "Last seen", cell: (row) => row.last_seen ? time(row.last_seen) : format.none},
  ], {label: "Live keys"});
}

export function keysPanel({signal, go}) {
  const view = panel("Live keys");
  const rule = h("input", {type: "search", placeholder: "all", autocomplete: "off", name: "keys-rule", onchange: () => load()});
  const prefix = h("input", {type: "search", placeholder: "any", autocomplete: "off", spellcheck: "false", name: "keys-prefix", onchange: () => load()});
  const body = h("div");
  const more = h("div", {class: "more"});
  const job = h("div", {class: "stack"});
  const list = keyTable(go);
  let rows = [];
  replace(view.body, h("div", {class: "filters padded"}, field("Rule", rule), field("Key begins with", prefix),
    may("operator", true) ? button("Reset these\u2026", () => askReset(), {class: "danger"}) : null), job, body);
  view.body.classList.add("flush");

  async function load(cursor = null) {
    try {
      const answer = await get(`/admin/v1/keys${query({rule: rule.value, prefix: prefix.value, cursor, limit: 50})}`, {signal});
      rows = cursor ? [...rows, ...answer.keys] : answer.keys;
      list.show(rows, rule.value || prefix.value ? "No live key matches." : "No key is in use: no call was counted yet.");
      replace(more, answer.cursor ? button("Show more", () => load(answer.cursor), {class: "small"}) : null);
      replace(body, list.element, more);
      replace(view.tools, answer.complete === false ? badge("not all keys have a known name", "warn") : null);
    } catch (error) {
      if (error instanceof ApiError) replace(body, problem(error));
      else if (error.name !== "AbortError") throw error;
    }
  }

  async function askReset() {
    const selector = {};
    if (rule.value) selector.rule = rule.value;
    if (prefix.value) selector.prefix = prefix.value;
    if (!rule.value && !prefix.value) selector.all = true;
    let preview;
    try {
      preview = await send("POST", "/admin/v1/resets", {...selector, dry_run: true});
    } catch (error) {
      return replace(job, problem(error));
    }
    const sample = keyTable(null);
    sample.show(preview.sample ?? [], "No key matches.");
    return dialog({
      title: `Reset ${format.count(preview.count)} keys?`, action: "Reset", danger: true, wide: true,
      intro: [`What these callers consumed is forgotten. Scanned: ${format.count(preview.scanned)} keys`, preview.complete ? "." : ", not all; the reset looks at every key."],
      fields: [h("h3", {}, "Sample"), sample.element],
      submit: async () => follow(await send("POST", "/admin/v1/resets", selector)),
    });
  }

  async function follow(started) {
    let state = snake(started);
    const cancel = button("Cancel", () => send("DELETE", `/admin/v1/resets/${encodeURIComponent(state.id)}`).catch(() => {}), {class: "small"});
    while (!signal.aborted) {
      const isRunning = RUNNING.includes(state.state);
      replace(job, h("div", {class: `notice ${isRunning ? "" : state.error ? "bad" : "good"}`, role: "status"},
        `Reset ${state.id}: ${state.state}, ${format.count(state.reset)} keys reset, ${format.count(state.scanned)} scanned. `, state.error ?? "", isRunning ? cancel : null));
      if (!isRunning) break;
      await new Promise((resolve) => setTimeout(resolve, 300));
      try {
        state = snake(await get(`/admin/v1/resets/${encodeURIComponent(state.id)}`, {signal}));
      } catch (error) {
        if (error.name === "AbortError") return;
        replace(job, problem(error));
        return;
      }
    }
    await load();
  }

  load();
  return view.element;
}
