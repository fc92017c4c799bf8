// Denials: as they happen, and explained by their id.

import {get, loadSession, query, snake, ApiError} from "./api.js";
import * as format from "./format.js";
import {attributes, badge, button, dialog, empty, facts, field, h, key, panel, problem, replace, table, time, visible} from "./parts.js";
import {guessAttributes} from "./top.js";

export const title = "Denials";

const KEPT = 500;

function numbersOf(denial) {
  const {numbers} = denial;
  return numbers ? `${format.count(numbers.remaining)} of ${format.count(numbers.limit)} left, the call cost ${format.count(numbers.cost)}` : null;
}

function waitOf(denial) {
  const wait = denial.retry_after_ms;
  return wait === undefined || wait === null ? format.none : wait < 0 ? "never" : format.seconds(wait / 1000);
}

export async function explain(id) {
  const answer = snake(await get(`/admin/v1/denials/${encodeURIComponent(id)}`));
  const view = dialog({
    title: "Why this call was denied", action: "Close",
    fields: [facts([
      ["Time", time(answer.time, format.fullTime)], ["Rule", answer.rule ? key(answer.rule) : "no longer known"], ["Limit", answer.limit ? key(answer.limit) : null],
      ["Numbers", numbersOf(answer)], ["Would have passed", answer.passes_at ? time(answer.passes_at, format.fullTime) : "never"],
      ["Rules", answer.rules ? `version ${answer.rules.version ?? "unknown"}${answer.rules.active ? ", active" : ", not active any more"}` : null],
      ["Decided", answer.degraded ? "without the store" : "with the store"]])],
    submit: async () => {},
  });
  view.querySelector(".buttons button").remove();
}

export function show(main, {signal, report, go}) {
  const list = panel("Live");
  const rule = h("input", {type: "search", placeholder: "all", autocomplete: "off", onchange: () => connect()});
  const id = h("input", {type: "text", autocomplete: "off", spellcheck: "false", placeholder: "from the body of a 429"});
  const errors = h("div", {class: "errors"});
  const pause = button("Pause", () => togglePause(), {"aria-pressed": "false"});
  const state = h("span", {class: "badge"}, "connecting");
  const counts = h("span");
  let source = null;
  let denials = [];
  let waiting = [];
  let dropped = 0;
  let paused = false;
  let frame = 0;
  let retry = 0;

  const rows = table([
    {name: "Time", cell: (row) => time(row.time, format.timeOfDay)},
    {name: "Rule", cell: (row) => row.rule ? key(row.rule) : badge(row.outcome)},
    {name: "Limit", cell: (row) => row.limit ? key(row.limit) : format.none},
    {name: "Key", cell: (row) => row.key ? h("button", {type: "button", class: "link", onclick: () => go("caller", {attributes: callerOf(row)})}, key(row.key)) : format.none},
    {name: "Call", cell: (row) => attributes(row.attributes)},
    {name: "Wait", cell: (row) => waitOf(row), class: "number"},
    {name: "", class: "actions", cell: (row) => row.id ? button("Why", () => explain(row.id).catch((error) => replace(errors, problem(error))), {class: "small", "aria-label": "Why was this call denied"}) : null},
  ], {label: "Denials", id: (row) => `${row.node} ${row.sequence}`, wide: true});

  replace(main, h("div", {class: "heading"}, h("h1", {tabindex: "-1"}, "Denials"), h("p", {}, "Calls that this node denies, as it happens."), h("div", {class: "row tight"}, state, pause)),
    h("div", {class: "filters"}, field("Rule", rule),
      h("form", {class: "row why", onsubmit: (event) => { event.preventDefault(); why(); }}, field("Denial id", id), h("button", {type: "submit"}, "Explain"))),
    errors, list.element);
  replace(list.body, empty("Waiting for denials", "None has happened since this server started, or none of this rule."));
  replace(list.tools, counts);

  function callerOf(row) {
    const known = {};
    for (const name of ["api_key", "ip", "user", "key"]) if (row.attributes?.[name] && !Object.keys(known).length) known[name] = row.attributes[name];
    return Object.keys(known).length ? known : guessAttributes(row.key);
  }

  async function why() {
    replace(errors);
    try {
      await explain(id.value.trim());
    } catch (error) {
      replace(errors, problem(error));
    }
  }

  function togglePause() {
    paused = !paused;
    pause.textContent = paused ? "Go on" : "Pause";
    pause.setAttribute("aria-pressed", String(paused));
    draw();
  }

  function draw() {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      if (!paused && waiting.length) {
        denials = [...waiting.reverse(), ...denials].slice(0, KEPT);
        waiting = [];
      }
      if (denials.length) {
        rows.show(denials);
        if (list.body.firstChild !== rows.element) replace(list.body, rows.element);
      }
      replace(counts, `${format.count(denials.length)} shown`, paused && waiting.length ? `, ${format.count(waiting.length)} waiting` : "",
        dropped ? `, ${format.count(dropped)} left out` : "");
    });
  }

  function setState(text, kind) {
    state.className = `badge ${kind}`;
    state.textContent = text;
  }

  function connect() {
    source?.close();
    clearTimeout(retry);
    if (signal.aborted) return;
    denials = [];
    waiting = [];
    replace(list.body, empty("Waiting for denials", rule.value ? `None of rule ${visible(rule.value)} yet.` : "None has happened since this server started."));
    source = new EventSource(`/admin/v1/denials${query({rule: rule.value, last: 100})}`);
    source.addEventListener("open", () => { setState("live", "good"); report(null); });
    source.addEventListener("denial", (event) => {
      waiting.push(snake(JSON.parse(event.data)));
      if (waiting.length > KEPT) waiting.shift();
      draw();
    });
    source.addEventListener("dropped", (event) => {
      dropped += JSON.parse(event.data).dropped;
      draw();
    });
    source.addEventListener("error", () => {
      setState("connecting", "warn");
      if (source.readyState !== EventSource.CLOSED) return;
      // It gives up after an answer other than 200: that is asked for again, since the event has no reason.
      retry = setTimeout(reconnect, 2000);
    });
  }

  async function reconnect() {
    if (signal.aborted) return;
    try {
      await loadSession();
      await get("/admin/v1/denials?follow=0&last=1", {signal, accept: "application/x-ndjson"}).catch((error) => {
        if (error instanceof ApiError) throw error;
      });
      replace(errors);
    } catch (error) {
      if (error instanceof ApiError) replace(errors, problem(error));
      else if (error.name !== "AbortError") report(error);
    }
    connect();
  }

  signal.addEventListener("abort", () => {
    source?.close();
    clearTimeout(retry);
    cancelAnimationFrame(frame);
  });
  connect();
}
