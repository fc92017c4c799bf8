// Audit: every change, by its author.

import {lines, poll, query} from "./api.js";
import {badge, button, empty, field, freshness, h, key, panel, replace, table, time, visible} from "./parts.js";

export const title = "Audit";

const PAGE = 100;

export function show(main, {signal, report}) {
  const list = panel("Records");
  const fresh = freshness(report);
  const more = h("div", {class: "more"});
  const search = h("input", {type: "search", placeholder: "author, action, target\u2026", autocomplete: "off", oninput: () => draw()});
  let records = [];
  let atEnd = false;
  const rows = table([
    {name: "Time", cell: (row) => time(row.time)},
    {name: "Author", cell: (row) => [key(row.author), h("small", {class: "below"}, row.authentication, row.address ? [" from ", key(row.address)] : null)]},
    {name: "Action", cell: (row) => badge(row.action)},
    {name: "Target", cell: (row) => row.target ? key(row.target) : "\u2013"},
    {name: "Message", cell: (row) => visible(row.message) || "\u2013", class: "wide-cell"},
    {name: "Node", cell: (row) => key(row.node)},
    {name: "No.", cell: (row) => row.sequence, class: "number"},
  ], {label: "Audit records", id: (row) => row.sequence, wide: true});

  replace(main, h("div", {class: "heading"}, h("h1", {tabindex: "-1"}, "Audit"),
    h("p", {}, "Each record contains the hash of the one before it.")),
    h("div", {class: "filters"}, field("Filter", search, null)), fresh.element, list.element);
  replace(list.body, rows.element, more);

  function draw() {
    const text = search.value.toLowerCase();
    const shown = text ? records.filter((row) => [row.author, row.action, row.target, row.message, row.node].join("\n").toLowerCase().includes(text)) : records;
    rows.show(shown, text ? "No loaded record contains this text. Older records may." : "Nothing was changed yet.");
    replace(more, atEnd || !records.length ? null : button("Load older records", older, {class: "small"}));
    replace(list.tools, `${records.length} loaded`);
  }

  async function older() {
    try {
      const next = await lines(`/admin/v1/audit${query({before: records.at(-1).sequence, limit: PAGE})}`, {signal});
      records = [...records, ...next];
      atEnd = next.length < PAGE;
      draw();
    } catch (error) {
      fresh.fail(error);
    }
  }

  poll(3, signal, async (inner) => {
    try {
      const newest = await lines(`/admin/v1/audit${query({limit: PAGE})}`, {signal: inner});
      const first = records[0]?.sequence ?? 0;
      const added = newest.filter((row) => row.sequence > first);
      // More than a page happened meanwhile, or the log began anew.
      const isGap = records.length && (added.length === PAGE || (newest[0]?.sequence ?? 0) < first);
      if (!records.length || isGap) atEnd = newest.length < PAGE;
      records = !records.length || isGap ? newest : [...added, ...records];
      if (added.length || isGap || !rows.body.childElementCount) draw();
      fresh.succeed();
    } catch (error) {
      if (error.code === "READ_ONLY_SOURCE") replace(list.body, empty("No audit log", "It is kept where rules come from a store (rules_source: store)."));
      else fresh.fail(error);
    }
  });
}
