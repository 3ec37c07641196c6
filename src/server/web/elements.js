// Elements of the page, made of names and texts; never of HTML.

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
