// Markdown inside of a paragraph: code, emphasis, links, characters by name. Text becomes text nodes, never HTML.

export const LONGEST_INLINE = 5000; // characters of a paragraph, beyond which it is not looked into
const DEEPEST = 8; // emphasis in emphasis
const PUNCTUATION = /[!-/:-@[-`{-~]/;

export function withInline(place, text) {
  if (text.length > LONGEST_INLINE) place.append(text);
  else addInline(place, text, 0);
  return place;
}

// The outer element first.
const MARKS = {
  "***": ["em", "strong"], ___: ["em", "strong"], "**": ["strong"], __: ["strong"], "~~": ["del"], "*": ["em"], _: ["em"],
};
const NAMED = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };
const ENTITY = /^&(?:(amp|lt|gt|quot|apos|nbsp)|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));/;

// A character by its name or number at the beginning of a text: {text, length}, or null.
function findEntity(text) {
  const found = ENTITY.exec(text);
  if (!found) return null;
  const [all, name, decimal, hex] = found;
  const code = decimal ? parseInt(decimal, 10) : parseInt(hex, 16);
  if (!name && !(code > 0 && code <= 0x10ffff)) return null;
  return { text: name ? NAMED[name] : String.fromCodePoint(code), length: all.length };
}

function element(name) {
  return document.createElement(name);
}

function addInline(place, text, depth) {
  let plain = "";
  const flush = () => {
    if (plain) place.append(plain);
    plain = "";
  };
  for (let i = 0; i < text.length; ) {
    const found = depth < DEEPEST ? findInline(text, i, depth) : null;
    if (found) {
      flush();
      place.append(found.node);
      i = found.end;
    } else if (text[i] === "\\" && i + 1 < text.length && PUNCTUATION.test(text[i + 1])) {
      plain += text[i + 1];
      i += 2;
    } else if (text[i] === "&" && findEntity(text.slice(i, i + 12))) {
      const entity = findEntity(text.slice(i, i + 12));
      plain += entity.text;
      i += entity.length;
    } else if (text[i] === "\n") {
      flush();
      place.append(element("br"));
      ++i;
    } else {
      plain += text[i++];
    }
  }
  flush();
}

// What begins at `at`, or null.
function findInline(text, at, depth) {
  switch (text[at]) {
    case "`":
      return findCode(text, at);
    case "*":
    case "_":
    case "~":
      return findEmphasis(text, at, depth);
    case "[":
      return findLink(text, at, depth);
    case "!":
      return text[at + 1] === "[" ? findLink(text, at + 1, depth) : null;
    case "h":
      return findAddress(text, at);
    default:
      return null;
  }
}

function findCode(text, at) {
  let ticks = 1;
  while (text[at + ticks] === "`") ++ticks;
  const mark = "`".repeat(ticks);
  const end = text.indexOf(mark, at + ticks);
  if (end < 0) return null;
  const code = element("code");
  code.textContent = text.slice(at + ticks, end).replace(/^ (.*[^ ].*) $/s, "$1");
  return { node: code, end: end + ticks };
}

const isWord = (c) => c !== undefined && /[\p{L}\p{N}]/u.test(c);

// The longest mark that begins here and ends somewhere.
function findEmphasis(text, at, depth) {
  for (const length of [3, 2, 1]) {
    const mark = text.slice(at, at + length);
    const found = mark.length === length && MARKS[mark] ? findMarked(text, at, mark, depth) : null;
    if (found) return found;
    if (length === 2 && MARKS[mark]) return null; // not as two of one
  }
  return null;
}

function findMarked(text, at, mark, depth) {
  const inside = at + mark.length;
  if (inside >= text.length || /\s/.test(text[inside])) return null;
  if (mark[0] === "_" && isWord(text[at - 1])) return null;
  for (let end = text.indexOf(mark, inside + 1); end > 0; end = text.indexOf(mark, end + 1)) {
    if (/\s/.test(text[end - 1]) || text[end - 1] === "\\") continue;
    if (mark.length === 1 && text[end + 1] === mark) {
      ++end; // the end of something inside
      continue;
    }
    // Of three signs, the first ends what began inside.
    if (mark.length === 2 && text[end + 2] === mark[0] && text.slice(inside, end).includes(mark[0])) ++end;
    if (mark[0] === "_" && isWord(text[end + mark.length])) continue;
    const nodes = MARKS[mark].map((tag) => element(tag));
    nodes.reduce((outer, inner) => (outer.append(inner), inner));
    addInline(nodes.at(-1), text.slice(inside, end), depth + 1);
    return { node: nodes[0], end: end + mark.length };
  }
  return null;
}

export function safeAddress(address) {
  return /^(https?:\/\/|mailto:)/i.test(address) ? address : null;
}

function link(address) {
  const node = element("a");
  node.href = address;
  node.target = "_blank";
  node.rel = "noopener noreferrer";
  return node;
}

function findLink(text, at, depth) {
  const close = text.indexOf("](", at);
  if (close < 0) return null;
  const name = text.slice(at + 1, close);
  if (name.includes("[")) return null;
  const end = closing(text, close + 2);
  if (end < 0) return null;
  const address = safeAddress(addressOf(text.slice(close + 2, end)));
  if (!address) return null;
  const node = link(address);
  addInline(node, name || address, depth + 1);
  return { node, end: end + 1 };
}

// Where the parenthesis that was opened before `from` is closed, or -1.
function closing(text, from) {
  let open = 1;
  for (let i = from; i < text.length; ++i) {
    if (text[i] === "\\") ++i;
    else if (text[i] === "(") ++open;
    else if (text[i] === ")" && --open === 0) return i;
  }
  return -1;
}

// Of what stands in the parentheses of a link: without its title and its angle brackets.
function addressOf(inside) {
  const bare = inside.trim().split(/\s/)[0].replace(/^<(.*)>$/, "$1");
  const plain = bare.replace(/\\([!-/:-@[-`{-~])/g, "$1");
  return plain.replace(/&[^;&]{1,10};/g, (all) => findEntity(all)?.text ?? all);
}

function findAddress(text, at) {
  if (isWord(text[at - 1])) return null;
  const found = /^https?:\/\/[^\s<>"'`\]}]+/.exec(text.slice(at, at + 2000));
  if (!found) return null;
  const address = withoutEnd(found[0]);
  const node = link(address);
  node.textContent = address;
  return { node, end: at + address.length };
}

// An address in a text, without the signs that belong to the text: those that end a sentence, and the parenthesis around it.
function withoutEnd(address) {
  const count = (sign) => address.split(sign).length;
  for (;;) {
    const isWrapped = address.endsWith(")") && count(")") > count("(");
    if (!isWrapped && !/[.,;:!?*_]$/.test(address)) return address;
    address = address.slice(0, -1);
  }
}
