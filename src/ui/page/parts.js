// Parts of which pages consist: panels, tables, dialogs, notices.

import {h, key, replace, setText, visible} from "./dom.js";
import * as format from "./format.js";
import {ApiError, OfflineError} from "./api.js";

export function panel(title, ...children) {
  const id = `p-${Math.random().toString(36).slice(2, 9)}`;
  const tools = h("div", {class: "tools"});
  const body = h("div", {class: "panel-body"}, children);
  const element = h("section", {class: "panel", "aria-labelledby": id}, h("header", {}, h("h2", {id}, title), tools), body);
  return {element, body, tools};
}

export function time(value, show = format.when) {
  if (!value) return format.none;
  return h("time", {datetime: String(value), title: format.fullTime(value)}, show(value));
}

export function badge(text, kind = "") {
  return h("span", {class: `badge ${kind}`}, text);
}

export function empty(title, why) {
  return h("div", {class: "empty"}, h("strong", {}, title), why ? h("p", {}, why) : null);
}

// An error as the server wrote it, and a sentence about its effect.
export function problem(error, effect = "") {
  const text = error instanceof ApiError || error instanceof OfflineError ? error.message : String(error.message ?? error);
  const code = error instanceof ApiError ? [error.code || `HTTP ${error.status}`, error.field].filter(Boolean).join(", ") : null;
  const ended = effect && !/[.!?]$/.test(text) ? `${text}.` : text;
  return h("div", {class: "notice bad", role: "alert"}, code ? h("code", {}, code) : null, " ", visible(ended), effect);
}

// Names and values; those without a value are left out.
export function facts(pairs) {
  return h("dl", {class: "facts"}, pairs.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

export function notice(text, kind = "") {
  return h("div", {class: `notice ${kind}`, role: "status"}, text);
}

// columns: {name, cell(row) → text or node, class}. options: `id(row)` says which rows are the same, so that they keep their
// elements. On a phone rows are cards; `wide`: also on a tablet.
export function table(columns, options = {}) {
  const head = h("thead", {}, h("tr", {}, columns.map((column) =>
    h("th", {scope: "col", class: column.class ?? ""}, column.name || h("span", {class: "hidden"}, column.label ?? "Actions")))));
  const body = h("tbody");
  const element = h("div", {class: "table", tabindex: "0", role: "region", "aria-label": options.label ?? "Table"}, h("table", {}, head, body));
  new ResizeObserver(([entry]) => element.classList.toggle("cards", entry.contentRect.width < (options.wide ? 820 : 480))).observe(element);
  let known = new Map();

  function cellOf(column, row) {
    return h("td", {class: column.class ?? "", "data-label": column.name}, column.cell(row));
  }

  // Replaces only the cells that differ: a selection stays, and so does the focus.
  function update(line, row, isSame) {
    columns.forEach((column, i) => {
      const old = line.children[i];
      const hasButtons = old.querySelector("button");
      if (isSame && hasButtons) return;
      const cell = cellOf(column, row);
      if (!hasButtons && old.isEqualNode(cell)) return;
      const focused = [...old.querySelectorAll("button")].indexOf(document.activeElement);
      old.replaceWith(cell);
      cell.querySelectorAll("button")[focused]?.focus();
    });
    return line;
  }

  return {
    element,
    body,
    show(rows, whenEmpty) {
      if (!rows.length && whenEmpty) {
        known = new Map();
        replace(body, h("tr", {class: "none"}, h("td", {colspan: columns.length}, whenEmpty)));
        return;
      }
      const next = new Map();
      const lines = rows.map((row, i) => {
        const id = options.id?.(row) ?? i;
        const text = JSON.stringify(row);
        const before = known.get(id);
        const line = before ? update(before.line, row, before.text === text) : h("tr", {}, columns.map((column) => cellOf(column, row)));
        next.set(id, {text, line});
        return line;
      });
      known = next;
      const kept = new Set(lines);
      for (const line of [...body.children]) if (!kept.has(line)) line.remove();
      // Moving an element takes the focus from it.
      lines.forEach((line, i) => {
        if (body.children[i] !== line) body.insertBefore(line, body.children[i] ?? null);
      });
    },
  };
}

// The first rows of a long list, and a button for all.
export function fold(list, most) {
  let isOpen = false;
  let all = [];
  const toggle = button("", () => {
    isOpen = !isOpen;
    show(all);
  }, {class: "small"});
  const more = h("div", {class: "more", hidden: true}, toggle);
  function show(rows, whenEmpty) {
    all = rows;
    list.show(isOpen ? rows : rows.slice(0, most), whenEmpty);
    more.hidden = rows.length <= most;
    setText(toggle, isOpen ? "Show fewer" : `Show all ${format.count(rows.length)}`);
  }
  return {element: more, show};
}

// What a page says about its own age: nothing while requests succeed; after a failure the reason, and the time of what is shown.
export function freshness(report) {
  const element = h("div", {class: "notices"});
  let last = 0;
  return {
    element,
    succeed() {
      last = Date.now();
      report(null);
      if (element.firstChild) replace(element);
    },
    fail(error) {
      if (error.name === "AbortError") return;
      if (error instanceof OfflineError) {
        report(error, last);
      } else if (error instanceof ApiError) {
        report(null);
        const state = last ? ` Shown is the state of ${format.timeOfDay(new Date(last))}.` : "";
        const next = problem(error, state);
        if (!element.firstChild?.isEqualNode(next)) replace(element, next);
      } else {
        throw error;
      }
    },
  };
}

export function field(label, control, hint) {
  const id = control.id || `f-${Math.random().toString(36).slice(2, 9)}`;
  control.id = id;
  const note = hint ? h("small", {id: `${id}-hint`}, hint) : null;
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div", {class: "field"}, h("label", {for: id}, label), control, note);
}

export function select(options, value, attributes) {
  const element = h("select", attributes, options.map((option) => {
    const [id, text] = Array.isArray(option) ? option : [option, option];
    return h("option", {value: id}, text);
  }));
  element.value = value;
  return element;
}

const LIVES = [["1h", "1 hour"], ["2h", "2 hours"], ["24h", "24 hours"], ["168h", "7 days"], ["720h", "30 days"], ["never", "never expires"]];

// The time in which something ends; null: never.
export function expiry(life) {
  return life === "never" ? null : new Date(Date.now() + Number.parseInt(life, 10) * 3_600_000).toISOString();
}

// For how long something lasts.
export function lifeField(value = "24h") {
  return select(LIVES, value, {name: "life"});
}

// A group of buttons, one of which is pressed.
export function choice(label, options, value, onchange) {
  const buttons = options.map(([id, text]) =>
    h("button", {type: "button", "aria-pressed": String(id === value), onclick: () => set(id, true)}, text));
  const element = h("div", {class: "choice", role: "group", "aria-label": label}, buttons);
  function set(id, report) {
    value = id;
    options.forEach(([other], i) => buttons[i].setAttribute("aria-pressed", String(other === id)));
    if (report) onchange(id);
  }
  return {element, set, get value() { return value; }};
}

export function button(text, onclick, attributes) {
  return h("button", {type: "button", onclick, ...attributes}, text);
}

// A form in a dialog. `submit` gets the form and may throw: then the error is shown, and the dialog stays.
export function dialog({title, intro, fields, action, danger, submit, wide}) {
  const errors = h("div", {class: "errors"});
  const confirm = h("button", {type: "submit", class: danger ? "danger" : "primary"}, action);
  const cancel = h("button", {type: "button", onclick: () => element.close()}, "Cancel");
  const form = h("form", {method: "dialog"}, h("h2", {id: "dialog-title"}, title),
    intro ? h("div", {class: "intro"}, intro) : null, fields, errors, h("div", {class: "buttons"}, cancel, confirm));
  const element = h("dialog", {"aria-labelledby": "dialog-title", class: wide ? "wide" : ""}, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    confirm.disabled = true;
    replace(errors);
    try {
      await submit(form);
      element.close();
    } catch (error) {
      replace(errors, problem(error));
    } finally {
      confirm.disabled = false;
    }
  });
  element.addEventListener("close", () => element.remove());
  document.body.append(element);
  element.showModal();
  return element;
}

// A message that goes away by itself.
export function toast(text, kind = "good") {
  let place = document.getElementById("toasts");
  if (!place) {
    place = h("div", {id: "toasts", role: "status", "aria-live": "polite"});
    document.body.append(place);
  }
  const line = h("div", {class: `notice ${kind}`}, text);
  place.append(line);
  setTimeout(() => line.remove(), 6000);
}

// What a call is known by: {"api_key": "…"} or conditions like {"ip": {"cidr": "10.0.0.0/8"}}.
export function attributes(values) {
  return h("span", {class: "attributes"}, Object.entries(values ?? {}).map(([name, value]) => {
    const [operator, text] = typeof value === "object" && value !== null ? Object.entries(value)[0] ?? ["", ""] : ["", value];
    return h("span", {class: "attribute"}, h("b", {}, visible(name)), operator && operator !== "equals" ? h("i", {}, ` ${operator} `) : " ",
      key(text));
  }));
}

// How much of a limit is used; `isShare`: a part of a whole, which is no limit.
export function bar(used, limit, isShare = false) {
  const share = limit > 0 ? Math.min(1, Math.max(0, used / limit)) : 0;
  const inner = h("span", {class: isShare ? "" : share >= 1 ? "full" : share >= 0.8 ? "high" : ""});
  inner.style.width = `${share * 100}%`;
  return h("span", {class: "bar", role: "meter", "aria-valuemin": 0, "aria-valuemax": limit, "aria-valuenow": used,
    "aria-label": isShare ? format.count(used) : `${format.count(used)} of ${format.count(limit)} used`}, inner);
}

export {h, key, replace, setText, visible};
