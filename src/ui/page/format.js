// Numbers with units, times in the viewer's zone.

const whole = new Intl.NumberFormat("en-US", {maximumFractionDigits: 0});
const NONE = "\u2013";

export const none = NONE;

export function count(number) {
  return number === null || number === undefined ? NONE : whole.format(number);
}

// Three significant digits, with k, M, G: the width of a number hardly changes.
export function short(number) {
  if (number === null || number === undefined || !Number.isFinite(number)) return NONE;
  const size = Math.abs(number);
  for (const [unit, name] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (size >= unit * 0.9995) return `${digits(number / unit)}${name}`;
  }
  return digits(number);
}

function digits(number) {
  const size = Math.abs(number);
  if (size === 0) return "0";
  if (size >= 99.95) return number.toFixed(0);
  if (size >= 9.995) return number.toFixed(Number.isInteger(number) ? 0 : 1);
  if (size < 0.01) return "<0.01";
  return Number.isInteger(number) ? String(number) : number.toFixed(2);
}

export function rate(number) {
  return number === null || number === undefined ? NONE : `${short(number)}/s`;
}

export function percent(share) {
  if (share === null || share === undefined || !Number.isFinite(share)) return NONE;
  const number = share * 100;
  const isWhole = Math.abs(number - Math.round(number)) < 0.005 || number >= 99.95;
  return `${isWhole ? number.toFixed(0) : number < 0.1 ? "<0.1" : number.toFixed(1)}\u2009%`;
}

export function bytes(number) {
  if (number === null || number === undefined) return NONE;
  for (const [unit, name] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (number >= unit) return `${digits(number / unit)}\u2009${name}`;
  }
  return `${whole.format(number)}\u2009B`;
}

// A text of the server with its large numbers grouped, and bytes in larger units.
export function readable(text) {
  return text.replace(/(?:(\d+) of )?(\d+) bytes\b/g, (all, used, most) => used ? `${bytes(Number(used))} of ${bytes(Number(most))}` : bytes(Number(most)))
    .replace(/(?<![\w.:-])\d{5,}(?![\w.:-])/g, (number) => whole.format(Number(number)));
}

export function seconds(number) {
  if (number === null || number === undefined) return NONE;
  if (number === 0) return "0\u2009s";
  const size = Math.abs(number);
  for (const [unit, name] of [[1, "s"], [1e-3, "ms"], [1e-6, "\u00b5s"]]) {
    if (size >= unit * 0.9995) return size >= 60 ? duration(number) : `${digits(number / unit)}\u2009${name}`;
  }
  return `${digits(number * 1e9)}\u2009ns`;
}

// "2 d 3 h": the two largest parts.
export function duration(number) {
  if (number === null || number === undefined) return NONE;
  let left = Math.round(Math.abs(number));
  const parts = [];
  for (const [unit, name] of [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]]) {
    const amount = Math.floor(left / unit);
    left -= amount * unit;
    if (amount > 0) parts.push(`${amount}\u2009${name}`);
    if (parts.length === 2) break;
  }
  return parts.length ? parts.join(" ") : "0\u2009s";
}

const clock = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
const minutes = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", hourCycle: "h23"});
const day = new Intl.DateTimeFormat(undefined, {month: "short", day: "numeric"});
const full = new Intl.DateTimeFormat(undefined, {dateStyle: "full", timeStyle: "long"});

function dateOf(time) {
  if (time === null || time === undefined || time === "") return null;
  const date = time instanceof Date ? time : new Date(typeof time === "number" ? time * 1000 : time);
  return Number.isNaN(date.getTime()) ? null : date;
}

export function timeOfDay(time) {
  const date = dateOf(time);
  return date ? clock.format(date) : NONE;
}

export function hourMinute(time) {
  const date = dateOf(time);
  return date ? minutes.format(date) : NONE;
}

// The time of day; before it the day, unless it is today.
export function when(time) {
  const date = dateOf(time);
  if (!date) return NONE;
  const today = new Date().toDateString() === date.toDateString();
  return today ? clock.format(date) : `${day.format(date)}, ${minutes.format(date)}`;
}

export function fullTime(time) {
  const date = dateOf(time);
  return date ? full.format(date) : "";
}

// "in 2 h 5 min", "3 s ago".
export function relative(time, now = Date.now()) {
  const date = dateOf(time);
  if (!date) return NONE;
  const left = (date.getTime() - now) / 1000;
  return left >= 0 ? `in ${duration(left)}` : `${duration(left)} ago`;
}
