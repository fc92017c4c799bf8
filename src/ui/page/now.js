// Now: what this server decides, and the nodes of the fleet.

import {get, poll, query, snake, ApiError, OfflineError} from "./api.js";
import {chart} from "./chart.js";
import * as format from "./format.js";
import {badge, choice, empty, h, key, panel, problem, replace, setText, table, time} from "./parts.js";

const STALE = 10_000;

function tile(name, hint) {
  const value = h("span", {class: "value"}, format.none);
  const note = h("span", {class: "note"}, "\u00a0");
  return {element: h("div", {class: "tile", title: hint}, h("span", {class: "name"}, name), value, note), value, note};
}

// The last step that is known, of the recent ones: a server that restarted shows a gap, not an old number.
function recent(values) {
  for (const value of values.slice(-5).reverse()) if (value !== null) return value;
  return null;
}

export const title = "Now";

export function show(main, {signal, report}) {
  const tiles = {
    checks: tile("Checks", "Calls decided by this node"),
    denied: tile("Denied", "Calls that a limit, a list or an entry denied"),
    degraded: tile("Degraded", "Calls decided without the store"),
    p50: tile("Latency p50", "Half of the checks took at most so long; sampled"),
    p99: tile("Latency p99", "99 of 100 checks took at most so long; sampled"),
    leases: tile("Lease hits", "Share of the checks that was decided from leased tokens, without the store"),
  };
  const charts = {
    checks: chart({title: "Checks", unit: format.rate, series: [{name: "all", kind: "main"}, {name: "denied", kind: "bad"}]}),
    degraded: chart({title: "Degraded", unit: format.rate, series: [{name: "without the store", kind: "main"}]}),
    latency: chart({title: "Latency", unit: format.seconds, series: [{name: "p99", kind: "main"}, {name: "p50", kind: "second"}]}),
    leases: chart({title: "Lease hits", unit: format.percent, max: 1, series: [{name: "of all checks", kind: "main"}]}),
  };
  const range = choice("Time range of the charts", [["10m", "10 min"], ["6h", "6 h"]], "10m", () => refresh());
  const health = panel("Health of this node");
  const nodes = panel("Nodes");
  const problems = h("div");
  replace(main,
    h("div", {class: "heading"}, h("h1", {tabindex: "-1"}, "Now"), h("p", {}, "This node, measured by itself."), range.element),
    problems,
    h("div", {class: "tiles"}, Object.values(tiles).map((one) => one.element)),
    h("div", {class: "charts"}, Object.values(charts).map((one) => one.element)),
    h("div", {class: "columns"}, nodes.element, health.element));

  const list = table([
    {name: "Node", cell: (node) => key(node.id)},
    {name: "Address", cell: (node) => key(node.address)},
    {name: "State", cell: (node) => badge(node.state, {ok: "good", behind: "warn", rejected: "bad", gone: "bad"}[node.state])},
    {name: "Rules", cell: (node) => node.version ?? format.none, class: "number"},
    {name: "Build", cell: (node) => key(node.build)},
    {name: "Up", cell: (node) => format.duration(node.uptime_seconds), class: "number"},
    {name: "Store", cell: (node) => [node.store, node.breaker && node.breaker !== "closed" ? [" ", badge(`breaker ${node.breaker}`, "bad")] : null]},
    {name: "Seen", cell: (node) => node.state === "gone" ? time(node.last_seen) : `${format.seconds(node.seen_ms_ago / 1000)} ago`, class: "number"},
  ], {label: "Nodes"});

  function showSeries(series) {
    const end = new Date(series.end);
    const points = range.value === "10m" ? 600 : 720;
    // A server that started lately has fewer points than the range has steps.
    const whole = (name) => [...Array(Math.max(0, points - series[name].length)).fill(null), ...series[name]];
    const view = (...names) => ({values: names.map(whole), end, step: series.step_seconds});
    charts.checks.show(view("checks", "denials"));
    charts.degraded.show(view("degraded"));
    charts.latency.show(view("p99_seconds", "p50_seconds"));
    charts.leases.show(view("lease_hit_ratio"));
    charts.leases.element.classList.toggle("absent", series.lease_hit_ratio.every((value) => value === null));
  }

  function showTiles(series) {
    const checks = recent(series.checks);
    const denied = recent(series.denials);
    const degraded = recent(series.degraded);
    setText(tiles.checks.value, format.rate(checks));
    setText(tiles.denied.value, format.rate(denied));
    setText(tiles.denied.note, checks > 0 ? `${format.percent(denied / checks)} of all` : "\u00a0");
    setText(tiles.degraded.value, format.rate(degraded));
    tiles.degraded.element.classList.toggle("alarm", degraded > 0);
    setText(tiles.degraded.note, degraded > 0 ? "without the store" : "\u00a0");
    // One call in a few dozen is timed, so that a quiet server has few steps with a latency.
    const latency = (values) => values.slice(-60).reverse().find((value) => value !== null) ?? null;
    setText(tiles.p50.value, format.seconds(latency(series.p50_seconds)));
    setText(tiles.p99.value, format.seconds(latency(series.p99_seconds)));
    const hits = latency(series.lease_hit_ratio);
    setText(tiles.leases.value, format.percent(hits));
    setText(tiles.leases.note, hits === null ? "needs Redis" : "\u00a0");
  }

  async function showNodes(inner) {
    try {
      const answer = await get("/admin/v1/nodes", {signal: inner});
      const behind = answer.nodes.filter((node) => node.state !== "ok").length;
      replace(nodes.tools, answer.current ? h("span", {}, `Rules ${answer.current}`) : null,
        h("span", {}, behind ? `${answer.nodes.length - behind} of ${answer.nodes.length} ok` : `all ${answer.nodes.length} ok`));
      list.show(answer.nodes, "No node has reported yet.");
      if (list.element.parentNode !== nodes.body) replace(nodes.body, list.element);
    } catch (error) {
      if (error instanceof ApiError && error.code === "READ_ONLY_SOURCE") {
        replace(nodes.body, empty("One node, with rules from a file", "Nodes know of each other where rules come from a store (rules_source: store)."));
      } else if (!(error instanceof OfflineError)) {
        replace(nodes.body, problem(error));
      }
      if (error.name === "AbortError" || error instanceof OfflineError) throw error;
    }
  }

  async function showHealth(inner) {
    let answer;
    try {
      answer = await get("/actuator/health", {signal: inner});
    } catch (error) {
      if (!(error instanceof ApiError) || !error.problem.components) throw error;
      answer = error.problem;  // Out of service, with the same body.
    }
    replace(health.tools, badge(answer.status === "UP" ? "all well" : answer.status.toLowerCase().replace("_", " "), answer.status === "UP" ? "good" : "bad"));
    replace(health.body, h("dl", {class: "conditions"}, Object.entries(answer.components).map(([name, condition]) =>
      [h("dt", {}, h("span", {class: condition.status === "UP" ? "dot good" : "dot bad", role: "img", "aria-label": condition.status === "UP" ? "ok" : "failing"}), name.replaceAll("_", " ")),
        h("dd", {}, condition.details?.message ?? (condition.status === "UP" ? "ok" : "failing"))])));
  }

  let hasSeries = true;
  async function refreshSeries(inner) {
    if (!hasSeries) return;
    try {
      const {series} = snake(await get(`/admin/v1/series${query({step: range.value === "10m" ? 1 : null})}`, {signal: inner}));
      const [fine, coarse] = [series.find((one) => one.step_seconds === 1), series.find((one) => one.step_seconds !== 1)];
      showSeries(range.value === "10m" ? fine : coarse);
      showTiles(fine);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      hasSeries = false;  // It keeps none.
    }
  }

  let shown = 0;
  const refresh = poll(2, signal, async (inner) => {
    try {
      await Promise.all([refreshSeries(inner), showNodes(inner), showHealth(inner)]);
      shown = Date.now();
      report(null);
      replace(problems);
    } catch (error) {
      if (error instanceof OfflineError) report(error, shown);
      else if (error instanceof ApiError) replace(problems, problem(error));
      else throw error;
    }
    main.classList.toggle("stale", Date.now() - shown > STALE);
  });
}
