// Elements of the page, made of names and texts; never of HTML.

export const $ = (id) => document.getElementById(id);

export function make(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export function button(text, onclick, properties = {}) {
  return make("button", { type: "button", textContent: text, onclick, ...properties });
}

// A row of texts and elements.
export function row(values) {
  return make("tr", {}, ...values.map((value) => make("td", {}, value)));
}

// A part of a drawing (SVG).
export function drawn(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function tell(id, text, isFault = false) {
  $(id).textContent = text;
  $(id).classList.toggle("warn", isFault);
}

const COPIED_MS = 1200;
const copied = new WeakMap(); // buttons that say so: button -> {name, timer}

// Copies a text; the button that asked for it says so for a while.
export async function copy(text, from) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // not over plain HTTP from another machine
    const area = make("textarea", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    from.focus();
  }
  const before = copied.get(from);
  clearTimeout(before?.timer);
  const name = before?.name ?? from.textContent;
  from.textContent = "Copied";
  const timer = setTimeout(() => {
    copied.delete(from);
    from.textContent = name;
  }, COPIED_MS);
  copied.set(from, { name, timer });
}
