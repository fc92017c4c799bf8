// Now: what the nodes decide, and how they are.

import {get, poll, query, snake, ApiError, OfflineError} from "./api.js";
import {chart} from "./chart.js";
import * as format from "./format.js";
import {badge, choice, empty, fold, freshness, h, key, notice, panel, replace, select, setText, table, time} from "./parts.js";
import {describe as describeEnforcement} from "./control.js";

const STALE = 10_000;
const NODES_SHOWN = 12;
const STATES = {ok: "good", behind: "warn", rejected: "bad", gone: "bad"};
const SPANS = {"10m": 600, "6h": 21_600};  // Seconds.

function tile(name, hint) {
  const value = h("span", {class: "value"}, format.none);
  const note = h("span", {class: "note"}, "\u00a0");
  return {element: h("div", {class: "tile", title: hint}, h("span", {class: "name"}, name), value, note), value, note};
}

// The last value that is known, of the recent ones: a server that restarted shows a gap, not an old number.
function recent(series, name, seconds) {
  const values = series[name].slice(-Math.max(1, Math.ceil(seconds / series.step_seconds)));
  return values.reverse().find((value) => value !== null) ?? null;
}

// Nodes with problems first.
export function byState(nodes) {
  const rank = (node) => Object.keys(STATES).indexOf(node.state);
  return [...nodes].sort((a, b) => rank(b) - rank(a));
}

export function stateBadge(node) {
  return badge(node.state, STATES[node.state]);
}

export const title = "Now";

export function show(main, {signal, report}) {
  const tiles = {
    checks: tile("Checks", "Calls that were decided"),
    denied: tile("Denied", "Calls that a limit, a list or an entry denied"),
    degraded: tile("Degraded", "Calls decided without the store"),
    p50: tile("Latency p50", "Half of the checks took at most so long; sampled"),
    p99: tile("Latency p99", "99 of 100 checks took at most so long; sampled"),
    leases: tile("Lease hits", "Share of the leased checks that was decided without the store"),
  };
  const charts = {
    checks: chart({title: "Checks", unit: format.rate, series: [{name: "all", kind: "main"}, {name: "denied", kind: "bad"}]}),
    degraded: chart({title: "Degraded", unit: format.rate, series: [{name: "without the store", kind: "main"}]}),
    // One call in a few dozen is timed, so that a quiet server has few steps with a latency.
    latency: chart({title: "Latency", unit: format.seconds, bridge: 60, series: [{name: "p99", kind: "main"}, {name: "p50", kind: "second"}]}),
    leases: chart({title: "Lease hits", unit: format.percent, max: 1, bridge: 60, blank: "No call was decided from a lease", series: [{name: "of leased checks", kind: "main"}]}),
  };
  const range = choice("Time range of the charts", [["10m", "10 min"], ["6h", "6 h"]], "10m", () => restart());
  const source = select([["", "this node"]], "", {"aria-label": "Nodes that the charts show", onchange: () => restart()});
  const origin = h("p", {}, "This node, measured by itself.");
  const health = panel("Health of this node");
  const nodes = panel("Nodes");
  const fresh = freshness(report);
  const mode = h("div", {class: "notices"});
  source.hidden = true;
  replace(main,
    h("div", {class: "heading"}, h("h1", {tabindex: "-1"}, "Now"), origin, h("div", {class: "row tight"}, source, range.element)),
    fresh.element, mode,
    h("div", {class: "tiles"}, Object.values(tiles).map((one) => one.element)),
    h("div", {class: "charts"}, Object.values(charts).map((one) => one.element)),
    health.element, nodes.element);
  replace(health.body, h("p", {class: "muted"}, "Reading\u2026"));
  replace(nodes.body, h("p", {class: "muted"}, "Reading\u2026"));

  const list = table([
    {name: "Node", cell: (node) => key(node.id)},
    {name: "Address", cell: (node) => key(node.address)},
    {name: "State", cell: (node) => [stateBadge(node), node.error ? h("small", {}, " ", key(node.error)) : null]},
    {name: "Rules", cell: (node) => node.version ?? format.none, class: "number"},
    {name: "Build", cell: (node) => key(node.build)},
    {name: "Up", cell: (node) => format.duration(node.uptime_seconds), class: "number"},
    {name: "Store", cell: (node) => [h("span", {class: "cut", title: node.store}, node.store), node.breaker && node.breaker !== "closed" ? [" ", badge(`breaker ${node.breaker}`, "bad")] : null]},
    {name: "Seen", cell: (node) => node.state === "gone" ? time(node.last_seen) : `${format.seconds(node.seen_ms_ago / 1000)} ago`, class: "number"},
  ], {label: "Nodes", id: (node) => node.id, wide: true});
  const folded = fold(list, NODES_SHOWN);

  function showSeries(series) {
    const end = new Date(series.end);
    const points = SPANS[range.value] / series.step_seconds;
    // A server that started lately has fewer points than the range has steps.
    const whole = (name) => [...Array(Math.max(0, points - series[name].length)).fill(null), ...series[name]];
    const view = (...names) => ({values: names.map(whole), end, step: series.step_seconds});
    charts.checks.show(view("checks", "denials"));
    charts.degraded.show(view("degraded"));
    charts.latency.show(view("p99_seconds", "p50_seconds"));
    charts.leases.show(view("lease_hit_ratio"));
  }

  function showTiles(series) {
    const checks = recent(series, "checks", 5);
    const denied = recent(series, "denials", 5);
    const degraded = recent(series, "degraded", 5);
    setText(tiles.checks.value, format.rate(checks));
    setText(tiles.denied.value, format.rate(denied));
    setText(tiles.denied.note, checks > 0 ? `${format.percent(denied / checks)} of all` : "\u00a0");
    setText(tiles.degraded.value, format.rate(degraded));
    tiles.degraded.element.classList.toggle("alarm", degraded > 0);
    setText(tiles.degraded.note, degraded > 0 ? "without the store" : "\u00a0");
    setText(tiles.p50.value, format.seconds(recent(series, "p50_seconds", 60)));
    setText(tiles.p99.value, format.seconds(recent(series, "p99_seconds", 60)));
    const hits = recent(series, "lease_hit_ratio", 60);
    setText(tiles.leases.value, format.percent(hits));
    setText(tiles.leases.note, hits === null ? "no leased calls" : "\u00a0");
  }

  // Nodes to choose from. The sum of all is the first choice as soon as there are several.
  let chosen = false;
  function showSources(all) {
    const options = [["cluster", `all ${format.count(all.length)} nodes`], ["", "this node"], ...all.map((node) => [`node ${node.id}`, node.address ? `${node.address} (${node.id})` : node.id])];
    const text = JSON.stringify(options);
    source.hidden = all.length < 2 && source.value === "";
    if (source.dataset.options === text) return;
    source.dataset.options = text;
    const value = !chosen && all.length > 1 ? "cluster" : source.value;
    if (all.length > 1) chosen = true;
    replace(source, options.map(([id, name]) => h("option", {value: id}, name)));
    const isKnown = options.some(([id]) => id === value);
    source.value = isKnown ? value : "";
    if (!isKnown || value === "cluster") restart();
  }

  async function showNodes(inner) {
    try {
      const answer = await get("/admin/v1/nodes", {signal: inner});
      const ok = answer.nodes.filter((node) => node.state === "ok").length;
      const total = answer.nodes.length;
      replace(nodes.tools, answer.current ? h("span", {}, `Rules ${answer.current}`) : null,
        h("span", {class: ok < total ? "badge bad" : "badge good"}, ok < total ? `${ok} of ${total} ok` : `all ${total} ok`));
      folded.show(byState(answer.nodes), "No node has reported yet.");
      if (list.element.parentNode !== nodes.body) replace(nodes.body, list.element, folded.element);
      showSources(answer.nodes);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "READ_ONLY_SOURCE") throw error;
      replace(nodes.body, empty("One node, with rules from a file", "Nodes know of each other where rules come from a store (rules_source: store)."));
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
    const isUp = (condition) => condition.status === "UP";
    const failing = Object.values(answer.components).filter((condition) => !isUp(condition)).length;
    const [text, kind] = answer.status !== "UP" ? [answer.status.toLowerCase().replaceAll("_", " "), "bad"]
      : failing ? [`${failing} ${failing === 1 ? "condition fails" : "conditions fail"}`, "warn"] : ["all well", "good"];
    replace(health.tools, badge(text, kind));
    const conditions = Object.entries(answer.components).sort(([, a], [, b]) => isUp(a) - isUp(b));
    replace(health.body, h("dl", {class: "conditions"}, conditions.map(([name, condition]) => h("div", {},
      h("dt", {}, h("span", {class: isUp(condition) ? "dot good" : "dot bad", role: "img", "aria-label": isUp(condition) ? "ok" : "failing"}), name.replaceAll("_", " ")),
      h("dd", {}, format.readable(condition.details?.message ?? (isUp(condition) ? "ok" : "failing")))))));
  }

  async function showMode(inner) {
    const {enforcement} = await get("/admin/enforcement", {signal: inner});
    const text = enforcement === "on" ? "" : `Enforcement is ${enforcement} on this node: ${describeEnforcement(enforcement)} Control has the reason.`;
    if (mode.textContent !== text) replace(mode, text ? notice(text, "warn") : null);
  }

  // Other nodes publish theirs every few seconds.
  let due = 0;
  async function refreshSeries(inner) {
    if (Date.now() < due) return;
    const isOwn = source.value === "";
    const which = isOwn ? {} : source.value === "cluster" ? {scope: "cluster"} : {node: source.value.slice("node ".length)};
    const ask = async (parameters) => snake(await get(`/admin/v1/series${query(parameters)}`, {signal: inner}));
    const fineStep = isOwn ? 1 : 5;
    try {
      const answer = await ask({...which, step: range.value === "10m" ? fineStep : null});
      const step = (seconds) => answer.series.find((one) => one.step_seconds === seconds);
      showSeries(range.value === "10m" ? step(fineStep) : step(30));
      showTiles(step(fineStep));
      setText(origin, isOwn ? "This node, measured by itself." : source.value === "cluster" ? "All nodes together; latencies are those of the slowest."
        : "One node, as it has reported.");
      due = isOwn ? 0 : Date.now() + (range.value === "10m" ? 4000 : 14_000);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404 && isOwn) {
        due = Infinity;  // It keeps none.
        return;
      }
      if (error instanceof ApiError && !isOwn) {
        // The store of reports does not answer; this node knows its own.
        const {series} = await ask({});
        showSeries(series.find((one) => one.step_seconds === (range.value === "10m" ? 1 : 30)));
        showTiles(series.find((one) => one.step_seconds === 1));
        setText(origin, "This node only: reports of the others can't be read.");
      }
      throw error;
    }
  }

  let shown = 0;
  const refresh = poll(2, signal, async (inner) => {
    const results = await Promise.allSettled([refreshSeries(inner), showNodes(inner), showHealth(inner), showMode(inner)]);
    const failures = results.filter((result) => result.status === "rejected").map((result) => result.reason);
    if (results[0].status === "fulfilled") shown = Date.now();
    if (failures.length) fresh.fail(failures.find((error) => error instanceof OfflineError) ?? failures[0]);
    else fresh.succeed();
    main.classList.toggle("stale", Date.now() - shown > STALE);
  });

  function restart() {
    due = 0;
    refresh();
  }
}
