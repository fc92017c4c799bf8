// Top: the largest consumers.

import {get, poll, query, snake, ApiError} from "./api.js";
import * as format from "./format.js";
import {bar, button, choice, field, freshness, h, key, panel, replace, select, table, time, visible} from "./parts.js";

export const title = "Top";

const EMPTY = {
  denied: "No call was denied in this time.", allowed: "No call was allowed in this time.", cost: "No call had a cost in this time.",
  utilization: "No key was used in this time.",
};

// The attributes by which a caller with this key is probably known.
export function guessAttributes(text) {
  const isAddress = /^[\d.]+$/.test(text) || (text.includes(":") && /^[\da-f:.]+$/i.test(text));
  return {[isAddress ? "ip" : "api_key"]: text};
}

export function show(main, {signal, report, go}) {
  const by = choice("Ranked by", [["denied", "Denied"], ["allowed", "Allowed"], ["cost", "Cost"], ["utilization", "Utilization"]], "denied", () => refresh());
  const span = choice("Time", [["1m", "1 min"], ["10m", "10 min"], ["1h", "1 h"]], "10m", () => refresh());
  const scope = select([["cluster", "all nodes"], ["node", "this node"]], "cluster", {onchange: () => refresh()});
  const rule = h("input", {type: "search", placeholder: "all", autocomplete: "off", onchange: () => refresh()});
  const list = panel("Consumers");
  const fresh = freshness(report);
  const fallback = h("div", {class: "notices"});
  const columns = (name) => [
    {name: "#", cell: (row) => row.rank, class: "number narrow"},
    {name: "Key", cell: (row) => h("button", {type: "button", class: "link", onclick: () => go("caller", {attributes: guessAttributes(row.key)})}, key(row.key))},
    {name: "Rule", cell: (row) => key(row.rule)},
    {name, cell: (row) => [format.count(row.count), row.error ? h("small", {}, ` \u00b1\u2009${format.count(row.error)}`) : null], class: "number"},
    {name: "Share", cell: (row) => bar(row.count, row.most, true), class: "narrow-bar"},
    {name: "Utilization", cell: (row) => row.utilization === null || row.utilization === undefined ? format.none : format.percent(row.utilization), class: "number"},
    {name: "Last", cell: (row) => time(row.last)},
  ];
  const names = {denied: "Denied calls", allowed: "Allowed calls", cost: "Cost", utilization: "Calls"};
  const tables = Object.fromEntries(Object.entries(names).map(([id, name]) => [id, table(columns(name), {label: "Largest consumers"})]));

  replace(main, h("div", {class: "heading"}, h("h1", {tabindex: "-1"}, "Top"), h("p", {}, "The largest consumers, counted with a known error.")),
    h("div", {class: "filters"},
      h("div", {class: "field"}, h("span", {class: "label"}, "Ranked by"), by.element),
      h("div", {class: "field"}, h("span", {class: "label"}, "Last"), span.element),
      field("Nodes", scope), field("Rule", rule)),
    fresh.element, fallback, list.element);

  const refresh = poll(5, signal, async (inner) => {
    const parameters = {by: by.value, window: span.value, scope: scope.value, rule: rule.value, limit: 50};
    try {
      const answer = snake(await get(`/admin/v1/top${query(parameters)}`, {signal: inner}));
      const rows = answer.rows ?? answer.top ?? [];
      const most = Math.max(1, ...rows.map((row) => row.count));
      const shown = tables[by.value];
      shown.show(rows.map((row, i) => ({...row, rank: i + 1, most})), rule.value ? `${EMPTY[by.value].slice(0, -1)} by rule ${visible(rule.value)}.` : EMPTY[by.value]);
      if (list.body.firstChild !== shown.element) replace(list.body, shown.element);
      replace(list.tools, answer.from ? h("span", {}, "since ", time(answer.from)) : null, answer.nodes ? h("span", {}, `${answer.nodes} ${answer.nodes === 1 ? "node" : "nodes"}`) : null,
        answer.max_absent ? h("span", {title: "A consumer that is not in the list has at most so many"}, `others \u2264 ${format.count(answer.max_absent)}`) : null);
      replace(fallback);
      fresh.succeed();
    } catch (error) {
      fresh.fail(error);
      const canFall = error instanceof ApiError && scope.value === "cluster" && error.status !== 401;
      if (canFall && !fallback.firstChild) replace(fallback, h("div", {}, button("Show this node only", () => { scope.value = "node"; refresh(); }, {class: "small"})));
    }
  });
}
