// Builds elements. Text is inserted as text only: no function here takes markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

// h("button", {class: "primary", onclick: save}, "Save"). Handlers are functions, never text.
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

// Sets the text of an element only if it differs, so that nothing is drawn again.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// A text that a client chose: isolated, so that its direction marks end with it.
export function key(text, attributes) {
  return h("bdi", {class: "key", title: visible(text), ...attributes}, visible(text));
}

// Makes characters visible that would change the order or the look of a line: controls, formats, separators of lines.
export function visible(text) {
  return String(text ?? "").replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (c) => `\u2039U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u203a`,
  );
}
