// Functions that all pages use.
const data = JSON.parse(document.getElementById("data").textContent);
const by = (id) => document.getElementById(id);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

function element(kind, attributes = {}, ...children) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") made.style.cssText = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const digits = (number, many = 4) => Number(number.toPrecision(many)).toLocaleString("en", { maximumFractionDigits: 9 });

function seconds(value, many = 4) {
  const size = Math.abs(value);
  for (const [least, unit, name] of [[172800, 86400, "days"], [7200, 3600, "h"], [120, 60, "min"], [1, 1, "s"], [1e-3, 1e-3, "ms"]]) {
    if (size >= least) return digits(value / unit, many) + " " + name;
  }
  return size === 0 ? "0 s" : digits(value * 1e6, many) + " µs";
}

function bytes(value, many = 3) {
  for (const [size, unit] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (value >= size) return digits(value / size, many) + " " + unit;
  }
  return digits(value, many) + " B";
}

const percent = (share) => (100 * share).toFixed(share < 0.0995 ? 1 : 0) + " %";

function legend(id, entries) {
  by(id).append(...entries.map(([name, text]) =>
    element("li", {}, element("i", { style: `background: var(--${name})` }), text)));
}

function table(id, heads, rows) {
  const head = element("tr", {}, ...heads.map(([text, kind]) =>
    element("th", { scope: "col", class: kind || "" }, text)));
  by(id).append(element("thead", {}, head), element("tbody", {}, ...rows));
}

const cell = (content, kind = "") => element("td", { class: kind }, content);

/// Returns a bar of shares of a whole, side by side, from [colour, share] pairs.
function meter(parts) {
  return element("div", { class: "meter", "aria-hidden": "true" }, ...parts.map(([name, share]) =>
    element("i", { style: `background: var(--${name}); width: ${(100 * Math.min(1, share)).toFixed(2)}%` })));
}

const tip = by("tip");
function showTip(event, text) {
  tip.hidden = text === null;
  if (text === null) return;
  tip.textContent = text;
  const right = event.clientX + 14 + tip.offsetWidth > innerWidth;
  tip.style.left = (right ? event.clientX - 14 - tip.offsetWidth : event.clientX + 14) + "px";
  tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 6) + "px";
}

/// Sizes a canvas to the screen's resolution, and returns its cleared context in CSS pixels.
function context(canvas, height) {
  const scale = devicePixelRatio || 1, width = canvas.clientWidth;
  canvas.style.height = height + "px";
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const drawing = canvas.getContext("2d");
  drawing.scale(scale, scale);
  drawing.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  drawing.textBaseline = "middle";
  return drawing;
}

/// Returns about `count` round times from `from` to `to`.
function ticks(from, to, count) {
  const rough = (to - from) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= rough);
  const list = [];
  for (let t = Math.ceil(from / step) * step; t <= to * (1 + 1e-9); t += step) list.push(t);
  return list;
}
