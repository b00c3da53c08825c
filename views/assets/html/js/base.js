// What every part of the page uses: the data, elements, numbers as text, colours of the theme.

const JSON_TEXT = document.getElementById("data").textContent;
// Question marks instead of characters that change the order of the surrounding text, as in the report's text form.
const unsafe = /[\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const plain = (key, value) => (typeof value === "string" ? value.replace(unsafe, "?") : value);
const DATA = JSON.parse(JSON_TEXT, /\\u(?!003c)/.test(JSON_TEXT) ? plain : undefined);
const byId = (id) => document.getElementById(id);

/** An element with attributes (`on…` are listeners) and children; strings become text, never markup. */
function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A time in milliseconds as text, with a unit that fits. */
function time(ms) {
  if (ms === null || ms === undefined) return "–";
  const size = Math.abs(ms);
  if (size >= 10000) return (ms / 1000).toFixed(1) + " s";
  if (size >= 1000) return (ms / 1000).toFixed(2) + " s";
  if (size >= 100) return ms.toFixed(0) + " ms";
  if (size >= 1) return ms.toFixed(size >= 10 ? 1 : 2) + " ms";
  return size === 0 ? "0" : (ms * 1000).toFixed(size >= 0.01 ? 0 : 2) + " µs";
}

/** A number of bytes as text; 1 kB is 1000 bytes. */
function bytes(count) {
  if (count === null || count === undefined) return "–";
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]])
    if (count >= size) return (count / size).toFixed(count >= 100 * size ? 0 : 1) + " " + unit;
  return count + " B";
}

const whole = (count) => (count === null || count === undefined ? "–" : String(count));
const percent = (part) => (part === null || part === undefined ? "–" : part.toFixed(part >= 9.95 ? 0 : 1) + " %");

/** A colour of the theme, for canvases. */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

/** Functions to call when what is drawn has to be drawn again: the theme or the width changed. */
const redraws = [];
let redrawing = 0;
function redraw() {
  cancelAnimationFrame(redrawing);
  redrawing = requestAnimationFrame(() => redraws.forEach((draw) => draw()));
}
addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

/** A bar of parts `[class, amount, label]`, as wide as `whole` is beside `most`. */
function bar(parts, most, tall) {
  const sum = parts.reduce((sum, [, amount]) => sum + amount, 0);
  const scale = most > 0 ? 100 / most : 0;
  const label = parts.filter(([, amount]) => amount > 0).map(([, amount, name]) => `${name} ${time(amount)}`).join(", ");
  return make("div", { class: tall ? "bar tall" : "bar", role: "img", "aria-label": label, title: label },
    sum > 0 ? parts.map(([kind, amount]) => make("i", { class: kind, style: `width:${amount * scale}%` })) : []);
}

/** The legend of a bar. */
function legend(parts) {
  return make("div", { class: "key" }, parts.map(([kind, amount, name]) =>
    make("span", {}, make("i", { class: kind }), `${name} ${time(amount)}`)));
}

/** A canvas's context with its size set for the screen's pixels, and that size in CSS pixels. */
function canvas(element) {
  const { width, height } = element.getBoundingClientRect();
  const ratio = devicePixelRatio || 1;
  element.width = Math.max(1, Math.round(width * ratio));
  element.height = Math.max(1, Math.round(height * ratio));
  const context = element.getContext("2d");
  context.scale(ratio, ratio);
  context.font = "11px system-ui, sans-serif";
  return [context, width, height];
}
