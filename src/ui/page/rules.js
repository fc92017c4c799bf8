// Rules: the document with its errors, the difference and impact of a change, versions, rollout by node.

import {get, may, poll, query, request, send, session} from "./api.js";
import * as format from "./format.js";
import {badge, button, dialog, field, fold, freshness, h, key, notice, panel, problem, replace, table, time, toast, visible} from "./parts.js";
import {byState, stateBadge} from "./now.js";

export const title = "Rules";

const EFFECTS = {tightens: "bad", loosens: "good", new: "accent", gone: "warn"};

function differenceTable(rows) {
  const list = table([
    {name: "Rule", cell: (row) => row.rule ? key(row.rule) : "\u2013"},
    {name: "Field", cell: (row) => key(row.field)},
    {name: "Before", cell: (row) => key(row.from ?? "\u2013"), class: "wide-cell"},
    {name: "After", cell: (row) => key(row.to ?? "\u2013"), class: "wide-cell"},
    {name: "Effect", cell: (row) => badge(row.effect, EFFECTS[row.effect] ?? "")},
  ], {label: "Difference"});
  list.show(rows, "Nothing differs.");
  return list.element;
}

function impactView(answer) {
  if (answer.impact === undefined) return null;
  if (!answer.impact) return notice(`No impact can be predicted: ${visible(answer.impact_unavailable)}`);
  const impact = answer.impact;
  const kind = impact.newly_denied_calls > 0 ? "warn" : "good";
  const affected = table([
    {name: "Caller", cell: (row) => [h("span", {}, `${row.attribute ?? "caller"} `), key(row.value)]},
    {name: "Calls", cell: (row) => format.count(row.calls), class: "number"},
    {name: "Newly denied", cell: (row) => format.count(row.newly_denied_calls), class: "number"},
    {name: "Newly allowed", cell: (row) => format.count(row.newly_allowed_calls), class: "number"},
  ], {label: "Callers most affected"});
  affected.show(impact.most_denied);
  return h("div", {class: "stack"},
    notice([
      h("strong", {}, `${format.count(impact.newly_denied_calls)} calls of ${format.count(impact.newly_denied_callers)} callers would be newly denied`),
      ` (${format.percent(impact.newly_denied_ratio)}), ${format.count(impact.newly_allowed_calls)} newly allowed. `,
      `Replayed: ${format.count(impact.replayed_calls)} calls of the last ${format.duration(impact.span_seconds)}`,
      impact.share < 1 ? `, a sample of ${format.percent(impact.share)}` : "", impact.approximate ? ", approximate." : "."], kind),
    impact.most_denied.length ? affected.element : null);
}

// A text area with line numbers. Lines with errors are marked.
function editor(readonly) {
  const gutter = h("div", {class: "gutter", "aria-hidden": "true"});
  const text = h("textarea", {"aria-label": "Rules as YAML", spellcheck: "false", autocapitalize: "off", wrap: "off", readonly, "aria-describedby": "rule-errors"});
  let marked = new Map();
  function number() {
    const count = text.value.split("\n").length;
    if (gutter.childElementCount === count && gutter.dataset.marks === String([...marked.keys()])) return;
    gutter.dataset.marks = String([...marked.keys()]);
    replace(gutter, Array.from({length: count}, (_, i) =>
      h("span", {class: marked.get(i + 1) ?? "", title: marked.has(i + 1) ? "See the list below" : null}, i + 1)));
  }
  text.addEventListener("input", number);
  text.addEventListener("scroll", () => { gutter.scrollTop = text.scrollTop; });
  return {
    element: h("div", {class: "editor"}, gutter, text),
    text,
    set(value) { text.value = value; marked = new Map(); number(); },
    mark(errors, warnings) {
      marked = new Map([...warnings.map((one) => [one.line, "warn"]), ...errors.map((one) => [one.line, "bad"])]);
      number();
    },
    go(line, column) {
      const lines = text.value.split("\n");
      const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0) + Math.max(0, column - 1);
      text.focus();
      text.setSelectionRange(start, start);
      text.scrollTop = Math.max(0, (line - 5) * 19);
    },
  };
}

export function show(main, {signal, report}) {
  const canEdit = may("editor", true);
  const edit = editor(!canEdit);
  const findings = h("div", {id: "rule-errors", class: "stack"});
  const result = h("div", {class: "stack"});
  const message = h("input", {type: "text", maxlength: "500", placeholder: "Why this change"});
  const check = button("Check", () => submit(true), {title: "Validate and compare; nothing is stored (Ctrl+Enter)"});
  const commit = button("Commit\u2026", () => askCommit(), {class: "primary"});
  const discard = button("Discard", () => load(), {class: "plain"});
  const document_ = panel("Document");
  const versions = panel("Versions");
  const rollout = panel("Nodes");
  const problems = h("div", {class: "notices"});
  const fresh = freshness(report);
  let tag = null;
  let loaded = "";
  let current = null;
  let fileMode = false;

  replace(main, h("div", {class: "heading"}, h("h1", {tabindex: "-1"}, "Rules"),
    h("p", {}, canEdit ? "A change is checked first, and is active on all nodes within two seconds of its commit."
      : may("editor") ? `You may read the rules. Your token changes only rules whose ids begin with ${visible(session.scope)}, through the API.` : "You may read the rules. Changing them needs the role editor.")),
    fresh.element, problems, h("div", {class: "columns rules-columns"}, h("div", {}, document_.element), h("div", {}, versions.element, rollout.element)));

  function showFindings(errors, warnings) {
    edit.mark(errors, warnings);
    const line = (one, kind) => h("li", {class: kind},
      button(`${one.line}:${one.column}`, () => edit.go(one.line, one.column), {class: "plain small", "aria-label": `Go to line ${one.line}`}),
      h("span", {}, one.path ? [key(one.path), " "] : null, visible(one.message)));
    replace(findings, errors.length || warnings.length
      ? h("ul", {class: "findings"}, errors.map((one) => line(one, "bad")), warnings.map((one) => line(one, "warn"))) : null);
  }

  function changed() {
    const differs = edit.text.value !== loaded;
    check.disabled = commit.disabled = discard.disabled = !differs;
    replace(document_.tools, current ? `Version ${current}` : "", differs ? badge("changed", "accent") : null);
  }

  async function load() {
    try {
      const response = await request("/admin/v1/rules", {accept: "application/yaml", signal});
      tag = response.headers.get("ETag");
      loaded = await response.text();
      edit.set(loaded);
      replace(findings);
      replace(result);
      replace(problems);
      current = (tag ?? "").replace(/^(W\/)?"|"$/g, "").split("-")[0].split(":")[0];
      replace(document_.body, h("div", {class: "stack"}, edit.element, findings,
        canEdit ? h("div", {class: "buttons left"}, check, commit, discard) : null, result));
      changed();
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.code === "NO_RULES") {
        tag = null;
        loaded = "";
        edit.set("rules:\n  - id: api\n    per: [api_key]\n    limit: 100 per minute\n");
        replace(document_.body, h("div", {class: "stack"}, notice("The store has no rules yet. This is an example to start from."), edit.element, findings,
          canEdit ? h("div", {class: "buttons left"}, check, commit) : null, result));
        changed();
      } else if (error.code === "READ_ONLY_SOURCE") {
        showFile(error);
      } else {
        replace(document_.body, problem(error));
      }
    }
  }

  // Rules from a file: what is loaded, and the way back.
  async function showFile(error) {
    fileMode = true;
    edit.text.readOnly = true;
    replace(document_.tools, badge("read-only"));
    replace(document_.body, h("div", {class: "stack"}, notice([visible(error.message), ". Edit the file: the server reads it again by itself."]),
      loaded ? edit.element : null));
    const answer = await get("/admin/rules", {signal});
    const list = table([
      {name: "Version", cell: (row) => row.version, class: "number"},
      {name: "Since", cell: (row) => time(new Date(row.since * 1000).toISOString())},
      {name: "File", cell: (row) => key(row.file)},
      {name: "", cell: (row) => row.version === answer.active.version ? badge("active", "good")
        : canEdit ? button("Roll back", () => askRollback(row.version), {class: "small"}) : null, class: "actions"},
    ], {label: "Loaded versions"});
    list.show([...answer.versions].reverse());
    replace(versions.body, list.element);
    if (answer.failing) replace(problems, notice(`The file has errors, and the previous rules stay active:\n${visible(answer.lastError.join("\n"))}`, "bad"));
  }

  function askRollback(version) {
    dialog({
      title: `Roll back to version ${version}?`, action: "Roll back", danger: true,
      intro: "The rules of that version are active at once, on this node, until the file changes.",
      fields: [],
      submit: async () => {
        await send("POST", `/admin/rules/rollback?version=${version}`);
        toast(`Version ${version} is active.`);
        await load();
      },
    });
  }

  function showAnswer(answer) {
    showFindings([], answer.warnings ?? []);
    replace(result, h("h3", {}, "Difference"), differenceTable(answer.difference?.rows ?? []),
      answer.impact !== undefined ? h("h3", {}, "Impact") : null, impactView(answer));
  }

  function showError(error) {
    const more = error.problem ?? {};
    showFindings(more.errors ?? [], more.warnings ?? []);
    replace(result, problem(error), more.difference ? differenceTable(more.difference.rows) : null, impactView(more),
      error.status === 412 ? h("div", {class: "buttons left"}, button("Load the current version", () => load()),
        button("Keep my text, and replace it", async () => { tag = more.current ?? tag; await submit(true); })) : null);
  }

  async function put(parameters) {
    const headers = tag ? {"If-Match": tag} : {};
    const response = await request(`/admin/v1/rules${query(parameters)}`, {method: "PUT", body: edit.text.value, type: "application/yaml", headers});
    return {status: response.status, answer: await response.json()};
  }

  async function submit(dryRun) {
    check.disabled = true;
    try {
      showAnswer((await put({dry_run: dryRun ? 1 : null})).answer);
    } catch (error) {
      showError(error);
    } finally {
      changed();
    }
  }

  async function askCommit() {
    let preview;
    commit.disabled = true;
    try {
      preview = (await put({dry_run: 1})).answer;
      showAnswer(preview);
    } catch (error) {
      // The guard refuses; who insists may still commit.
      if (error.code !== "GUARD_EXCEEDED" && error.code !== "REJECTS_ALL") return showError(error);
      preview = {...error.problem, refusal: error};
      showError(error);
    } finally {
      changed();
    }
    const force = h("input", {type: "checkbox"});
    dialog({
      title: "Commit this change?", action: "Commit", wide: true,
      intro: `It replaces version ${current ?? "none"} on all nodes.`,
      fields: [
        differenceTable(preview.difference?.rows ?? []), impactView(preview),
        preview.refusal ? problem(preview.refusal) : null,
        field("Message", message, "For the history and the audit log"),
        preview.refusal ? h("label", {class: "check"}, force, "Commit all the same; the message says why") : null,
      ],
      submit: async () => {
        const forced = force.checked ? {force: 1, reject_all: preview.refusal?.code === "REJECTS_ALL" ? 1 : null} : {};
        const {answer} = await put({message: message.value, wait: "2s", ...forced});
        message.value = "";
        toast(`Version ${answer.version} is committed` + (answer.of !== undefined ? `, and active on ${answer.applied} of ${answer.of} nodes.` : "."),
          answer.applied === answer.of ? "good" : "warn");
        await load();
        refresh();
      },
    });
    message.focus();
  }

  function askRestore(row) {
    const why = h("input", {type: "text", maxlength: "500"});
    const difference = h("div", {}, "Comparing\u2026");
    get(`/admin/v1/rules/versions/${current}...${row.version}`, {signal})
      .then((answer) => replace(difference, differenceTable(answer.rows)), (error) => replace(difference, problem(error)));
    dialog({
      title: `Restore version ${row.version}?`, action: "Restore", wide: true,
      intro: "Its text becomes a new version, on all nodes.",
      fields: [difference, field("Message", why)],
      submit: async () => {
        const answer = await send("POST", `/admin/v1/rules/versions/${row.version}/restore${query({message: why.value, wait: "2s"})}`, undefined,
          {headers: {"If-Match": tag}});
        toast(`Version ${answer.version} is committed, with the text of ${row.version}.`);
        await load();
        refresh();
      },
    });
    why.focus();
  }

  async function showVersion(row) {
    const version = await get(`/admin/v1/rules/versions/${row.version}`, {signal});
    const view = dialog({
      title: `Version ${row.version}`, action: "Close", wide: true,
      intro: [time(version.time, format.fullTime), " by ", key(version.author), version.message ? [": ", visible(version.message)] : null],
      fields: [h("pre", {class: "text", tabindex: "0"}, version.text)],
      submit: async () => {},
    });
    view.querySelector(".buttons button").remove();
  }

  const history = table([
    {name: "Version", cell: (row) => h("span", {class: "nowrap"}, row.version, row.version === current ? [" ", badge("current", "good")] : null)},
    {name: "Time", cell: (row) => time(row.time)},
    {name: "Message", cell: (row) => [visible(row.message) || (row.source === "api" ? "\u2013" : row.source), row.restores ? ` (restores ${row.restores})` : "", h("small", {class: "below"}, "by ", key(row.author))], class: "wide-cell"},
    {name: "", cell: (row) => [button("View", () => showVersion(row), {class: "small", "aria-label": `View version ${row.version}`}),
      canEdit && row.version !== current ? button("Restore\u2026", () => askRestore(row), {class: "small", "aria-label": `Restore version ${row.version}`}) : null], class: "actions"},
  ], {label: "Versions", id: (row) => row.version});
  const older = h("div", {class: "more"});
  let shownAll = false;

  const nodes = table([
    {name: "Node", cell: (node) => key(node.id)},
    {name: "Rules", cell: (node) => node.version ?? "\u2013"},
    {name: "State", cell: (node) => [stateBadge(node), node.error ? [" ", visible(node.error)] : null], class: "wide-cell"},
  ], {label: "Rollout by node", id: (node) => node.id});
  const folded = fold(nodes, 8);

  function showRollout(fleet) {
    const applied = fleet.nodes.filter((node) => node.state === "ok").length;
    replace(rollout.tools, fleet.nodes.length ? h("span", {}, `active on ${applied} of ${fleet.nodes.length}`) : null);
    folded.show(byState(fleet.nodes), "No node has reported yet.");
    if (nodes.element.parentNode !== rollout.body) replace(rollout.body, nodes.element, folded.element);
  }

  edit.text.addEventListener("input", changed);
  edit.text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && canEdit && !check.disabled) submit(true);
  });

  const refresh = poll(3, signal, async (inner) => {
    try {
      const fleet = await get("/admin/v1/nodes", {signal: inner});
      showRollout(fleet);
      if (fileMode) return fresh.succeed();
      const list = await get("/admin/v1/rules/versions", {signal: inner});
      const newest = list.versions[0]?.version ?? null;
      if (fleet.current && current && fleet.current !== current && edit.text.value === loaded) await load();
      if (fleet.current && current && fleet.current !== current && edit.text.value !== loaded) {
        replace(problems, notice(`Version ${fleet.current} is current now, while you edit a copy of ${current}. A commit will show what changed.`, "warn"));
      }
      current = current ?? newest;
      const rows = shownAll ? list.versions : list.versions.slice(0, 10);
      history.show(rows.map((row) => ({...row, mark: row.version === current})), "There is no version yet.");
      const rest = list.versions.length - rows.length;
      if (history.element.parentNode !== versions.body) replace(versions.body, history.element, older);
      if (Boolean(older.firstChild) !== rest > 0) replace(older, rest > 0 ? button(`Show ${rest} more`, () => { shownAll = true; refresh(); }, {class: "small"}) : null);
      fresh.succeed();
    } catch (error) {
      if (error.code === "READ_ONLY_SOURCE") await showFile(error);
      else fresh.fail(error);
    }
    return null;
  });
  load();
}
