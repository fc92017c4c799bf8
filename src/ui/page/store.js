// Store: where the limits live.

import {get, poll} from "./api.js";
import * as format from "./format.js";
import {badge, bar, empty, freshness, h, key, notice, panel, replace, table} from "./parts.js";

export const title = "Store";

const CLOCK_ALERT_MS = 500;

function meter(name, used, most, show) {
  return h("div", {class: "meter"}, h("span", {}, name), h("strong", {}, show(used), most ? h("small", {}, ` of ${show(most)}`) : null), most ? bar(used, most) : h("span"));
}

export function show(main, {signal, report}) {
  const content = h("div");
  const fresh = freshness(report);
  replace(main, h("div", {class: "heading"}, h("h1", {tabindex: "-1"}, "Store"), h("p", {}, "Where the state of limits lives.")), fresh.element, content);
  const memory = panel("Memory of this node");
  const redis = panel("Redis");
  const clocks = h("div", {class: "notices"});

  const nodes = table([
    {name: "Node", cell: (node) => key(node.name)},
    {name: "Role", cell: (node) => node.error ? badge("no answer", "bad") : node.role ?? format.none},
    {name: "Keys", cell: (node) => format.short(node.keys), class: "number"},
    {name: "Memory", cell: (node) => [format.bytes(node.used_bytes), node.max_bytes ? h("small", {}, ` of ${format.bytes(node.max_bytes)}`) : null], class: "number"},
    {name: "Operations", cell: (node) => format.rate(node.operations_per_second ?? node.ops_per_second), class: "number"},
    {name: "Evicted", cell: (node) => node.evicted_keys ? badge(format.count(node.evicted_keys), "bad") : format.count(node.evicted_keys), class: "number"},
    {name: "Slow log", cell: (node) => format.count(node.slow_log_length ?? node.slowlog_length), class: "number"},
    {name: "Replicas", cell: (node) => (node.replicas ?? []).length ? node.replicas.map((one) => h("div", {}, key(one.address), " ", h("small", {}, `${one.state}, ${format.bytes(one.lag_bytes)} behind`))) : node.error ? format.none : "none"},
    {name: "Clock", cell: (node) => node.clock_offset_ms === null || node.clock_offset_ms === undefined ? format.none
      : Math.abs(node.clock_offset_ms) > CLOCK_ALERT_MS ? badge(`${format.seconds(node.clock_offset_ms / 1000)} off`, "bad") : `${format.seconds(node.clock_offset_ms / 1000)} off`, class: "number"},
    {name: "Version", cell: (node) => node.version ? key(node.version) : format.none},
  ], {label: "Nodes of Redis", id: (node) => node.name, wide: true});

  poll(5, signal, async (inner) => {
    try {
      const answer = await get("/admin/v1/store", {signal: inner});
      const failing = (answer.redis ?? []).filter((node) => node.error);
      const off = (answer.redis ?? []).filter((node) => Math.abs(node.clock_offset_ms ?? 0) > CLOCK_ALERT_MS);
      replace(clocks, failing.map((node) => notice([key(node.name), `: ${node.error}`], "bad")),
        off.map((node) => notice([h("span", {}, "The clocks of this node and of "), key(node.name), ` differ by ${format.seconds(Math.abs(node.clock_offset_ms) / 1000)}: synchronize them (NTP).`], "bad")));
      if (answer.memory) {
        const one = answer.memory;
        replace(memory.body, h("div", {class: "meters"},
          meter("Keys", one.keys, one.max_keys, format.count), meter("Bytes", one.used_bytes, one.max_bytes, format.bytes),
          meter("Keys of limits in requests", one.request_keys, one.max_request_keys, format.count),
          one.named_keys === undefined ? null : meter("Keys with a known name", one.named_keys, 0, format.count),
          meter("Expired since the start", one.expired_keys, 0, format.count), meter("Calls without room", one.refused_calls, 0, format.count)));
      }
      nodes.show(answer.redis ?? [], "No node of Redis is known yet.");
      if (nodes.element.parentNode !== redis.body) replace(redis.body, nodes.element);
      const isRedis = answer.kind === "redis";
      const parts = [clocks, isRedis ? redis.element : null, answer.memory ? memory.element : null,
        isRedis ? null : panel("Redis", empty("Limits live in memory", "A store shared by several nodes is configured with the setting store")).element].filter(Boolean);
      if (content.childElementCount !== parts.length || content.firstChild !== clocks) replace(content, parts);
      fresh.succeed();
    } catch (error) {
      fresh.fail(error);
    }
  });
}
