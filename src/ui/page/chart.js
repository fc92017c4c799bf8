// Line charts of equal steps, drawn as SVG.

import {h, replace, svg} from "./dom.js";
import * as format from "./format.js";

const HEIGHT = 150;
const LEFT = 52;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 20;

// A round number not below: 1, 2, 2.5, 5 times a power of ten.
function roundUp(number) {
  if (!(number > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(number));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= number * 0.9999) ?? 10 * power;
}

// series: {name, kind: "main" | "second" | "bad"}; show({values: [[…], …], end: Date, step: seconds}). `bridge`: gaps of so many
// seconds are drawn through, for values that are sampled; `blank`: what a chart without values says.
export function chart({title, unit, series, max, bridge = 0, blank = "Nothing was measured in this time"}) {
  const drawing = svg("svg", {class: "chart-svg", role: "img", height: HEIGHT, tabindex: "0"});
  const tip = h("div", {class: "tip", "aria-hidden": "true"});
  const legend = h("div", {class: "legend"}, series.map((one) => h("span", {class: one.kind}, one.name)));
  const element = h("figure", {class: "chart"}, h("figcaption", {}, h("span", {}, title), legend), h("div", {class: "canvas"}, drawing, tip, h("div", {class: "blank-text"}, blank)));
  let data = null;
  let at = null;
  let width = 0;

  function top() {
    if (max) return max;
    let most = 0;
    for (const values of data.values) for (const value of values) if (value > most) most = value;
    return roundUp(most * 1.05);
  }

  function x(index) {
    return LEFT + (index + 0.5) * (width - LEFT - RIGHT) / data.values[0].length;
  }

  function line(values, highest) {
    let path = "";
    let last = -Infinity;
    const reach = Math.max(1, bridge / data.step);
    const known = values.map((value, i) => (value === null ? -1 : i)).filter((i) => i >= 0);
    known.forEach((i, at_) => {
      const value = values[i];
      const pen = i - last <= reach;
      last = i;
      const y = TOP + (HEIGHT - TOP - BOTTOM) * (1 - Math.min(1, value / highest));
      path += `${pen ? "L" : "M"}${x(i).toFixed(1)} ${y.toFixed(1)}`;
      // A point alone would not be visible.
      if (!pen && !(known[at_ + 1] - i <= reach)) path += "h1.5";
    });
    return path;
  }

  function labels() {
    const steps = data.values[0].length;
    const span = steps * data.step;
    const every = span > 7200 ? 3600 : 120;
    const start = data.end.getTime() / 1000 - span;
    const marks = [];
    // Whole hours and minutes of the viewer's zone.
    const shift = data.end.getTimezoneOffset() * -60;
    for (let t = Math.ceil((start + shift) / every) * every - shift; t < start + span; t += every) marks.push(t);
    return marks.map((t) => {
      const place = LEFT + (t - start) / span * (width - LEFT - RIGHT);
      return place < LEFT + 12 || place > width - RIGHT - 14 ? null : svg("text", {class: "axis", x: place.toFixed(1), y: HEIGHT - 5, "text-anchor": "middle"}, format.hourMinute(t));
    });
  }

  function draw() {
    if (!data || width < 60) return;
    const highest = top();
    const grid = [0, 0.5, 1].map((share) => {
      const y = TOP + (HEIGHT - TOP - BOTTOM) * (1 - share);
      return [svg("line", {class: "grid", x1: LEFT, x2: width - RIGHT, y1: y, y2: y}),
        svg("text", {class: "axis", x: LEFT - 6, y: y + 3.5, "text-anchor": "end"}, unit(highest * share))];
    });
    const lines = data.values.map((values, i) => svg("path", {class: `line ${series[i].kind}`, d: line(values, highest)})).reverse();
    const cursor = at === null ? null : svg("line", {class: "cursor", x1: x(at), x2: x(at), y1: TOP, y2: HEIGHT - BOTTOM});
    drawing.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    drawing.setAttribute("width", width);
    drawing.setAttribute("aria-label", summary());
    replace(drawing, grid, labels(), lines, cursor);
    const known = data.values.some((values) => values.some((value) => value !== null));
    element.classList.toggle("blank", !known);
    showTip();
  }

  function summary() {
    const now = data.values.map((values, i) => `${series[i].name} ${unit(lastOf(values))}`).join(", ");
    return `${title}: now ${now}`;
  }

  function showTip() {
    tip.classList.toggle("shown", at !== null);
    if (at === null) return;
    const end = new Date(data.end.getTime() - (data.values[0].length - 1 - at) * data.step * 1000);
    replace(tip, h("b", {}, format.timeOfDay(end)),
      series.map((one, i) => h("span", {class: one.kind}, `${one.name} ${unit(data.values[i][at])}`)));
    const place = x(at);
    tip.style.left = `${place > width / 2 ? place - tip.offsetWidth - 10 : place + 10}px`;
  }

  function point(event) {
    if (!data) return;
    const box = drawing.getBoundingClientRect();
    const steps = data.values[0].length;
    const share = (event.clientX - box.left - LEFT) / (width - LEFT - RIGHT);
    at = Math.max(0, Math.min(steps - 1, Math.floor(share * steps)));
    draw();
  }

  function move(event) {
    if (!data) return;
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (event.key === "Escape") at = null;
    else if (by) at = Math.max(0, Math.min(data.values[0].length - 1, (at ?? data.values[0].length) + by));
    else return;
    event.preventDefault();
    draw();
  }

  drawing.addEventListener("pointermove", point);
  drawing.addEventListener("pointerleave", () => { at = null; draw(); });
  drawing.addEventListener("keydown", move);
  drawing.addEventListener("blur", () => { at = null; draw(); });
  new ResizeObserver((entries) => {
    width = Math.floor(entries[0].contentRect.width);
    draw();
  }).observe(element.querySelector(".canvas"));
  return {
    element,
    show(next) {
      data = next;
      if (at !== null && at >= data.values[0].length) at = null;
      draw();
    },
  };
}

export function lastOf(values) {
  for (let i = values.length - 1; i >= 0; --i) if (values[i] !== null) return values[i];
  return null;
}
