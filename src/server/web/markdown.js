// Markdown to elements of a page: paragraphs, headings, lists, quotes, code, tables, emphasis, links.
// The text is a model's, so nothing of it is ever read as HTML: every character becomes a text node.
// Links lead to http, https and mailto only; images become links, because a page that loads them
// would tell somebody. What is too long or too deep stays plain text.
import { LONGEST_INLINE, withInline } from "./markdown_inline.js";

const DEEPEST = 8; // lists in lists, quotes in quotes

// Brings `place` up to date with a text that has grown: what has not changed keeps its elements.
export function renderMarkdown(place, text) {
  const blocks = splitBlocks(text.split("\n"));
  blocks.forEach((block, i) => {
    const old = place.children[i];
    if (old && old.markdownSource === block.source) return;
    const element = renderBlock(block, 0);
    if (block.kind !== "code") element.dir = "auto"; // each reads from its own side
    element.markdownSource = block.source;
    if (old) old.replaceWith(element);
    else place.append(element);
  });
  while (place.children.length > blocks.length) place.lastElementChild.remove();
}

// ---- blocks

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const UNDERLINE = /^ {0,3}(={2,}|-{2,}) *$/; // of a heading; one sign alone may become an item of a list
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)/;
const TABLE_RULE = /^ *\|? *:?-+:? *(\| *:?-+:? *)*\|? *$/;

function splitBlocks(lines) {
  const blocks = [];
  for (let i = 0; i < lines.length; ) {
    if (lines[i].trim() === "") {
      ++i;
      continue;
    }
    const block = takeBlock(lines, i);
    block.source = block.kind + "\n" + lines.slice(i, block.end).join("\n");
    blocks.push(block);
    i = block.end;
  }
  return blocks;
}

function takeBlock(lines, start) {
  const line = lines[start];
  const fence = FENCE.exec(line);
  if (fence) return takeFence(lines, start, fence);
  const heading = HEADING.exec(line);
  if (heading) return { kind: "heading", level: heading[1].length, text: heading[2], end: start + 1 };
  if (RULE.test(line)) return { kind: "rule", end: start + 1 };
  if (/^ {0,3}>/.test(line)) return takeQuote(lines, start);
  if (ITEM.test(line)) return takeList(lines, start);
  if (isTable(lines, start)) return takeTable(lines, start);
  return takeParagraph(lines, start);
}

function takeFence(lines, start, fence) {
  const mark = fence[1];
  let end = start + 1;
  while (end < lines.length && !closes(lines[end], mark)) ++end;
  return {
    kind: "code",
    language: fence[2].trim().split(/\s+/)[0],
    text: lines.slice(start + 1, end).join("\n"),
    end: Math.min(lines.length, end + 1),
  };
}

function closes(line, mark) {
  const bare = line.trim();
  return bare.length >= mark.length && bare === mark[0].repeat(bare.length);
}

function takeQuote(lines, start) {
  let end = start;
  while (end < lines.length && /^ {0,3}>/.test(lines[end])) ++end;
  return { kind: "quote", lines: lines.slice(start, end).map((l) => l.replace(/^ {0,3}> ?/, "")), end };
}

// An item goes on with lines that are indented further than its mark, and over empty lines before
// such ones.
function takeList(lines, start) {
  const first = ITEM.exec(lines[start]);
  const indent = first[1].length;
  const ordered = /\d/.test(first[2]);
  const items = [];
  let i = start;
  while (i < lines.length) {
    const item = ITEM.exec(lines[i]);
    if (!item || Math.abs(item[1].length - indent) > 1 || /\d/.test(item[2]) !== ordered) break;
    const inner = [lines[i].slice(item[0].length)];
    const least = item[1].length + 2;
    for (++i; i < lines.length; ++i) {
      const depth = lines[i].search(/\S/);
      if (depth >= least) inner.push(lines[i].slice(Math.min(depth, item[0].length)));
      else if (depth < 0 && i + 1 < lines.length && lines[i + 1].search(/\S/) >= least) inner.push("");
      else break;
    }
    items.push(inner);
    let next = i;
    while (next < lines.length && lines[next].trim() === "") ++next;
    const again = next < lines.length && ITEM.exec(lines[next]);
    if (next > i && again && Math.abs(again[1].length - indent) <= 1) i = next;
  }
  return { kind: "list", ordered, from: parseInt(first[2], 10) || 1, items, end: i };
}

function isTable(lines, start) {
  return lines[start].includes("|") && start + 1 < lines.length && lines[start + 1].includes("-") &&
    lines[start + 1].length < LONGEST_INLINE && TABLE_RULE.test(lines[start + 1]);
}

function cells(line) {
  const bare = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return bare.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function takeTable(lines, start) {
  let end = start + 2;
  while (end < lines.length && lines[end].includes("|")) ++end;
  const sides = cells(lines[start + 1]).map((rule) =>
    rule.endsWith(":") ? (rule.startsWith(":") ? "center" : "right") : "left");
  return { kind: "table", head: cells(lines[start]), sides, rows: lines.slice(start + 2, end).map(cells), end };
}

function takeParagraph(lines, start) {
  let end = start + 1;
  for (; end < lines.length && lines[end].trim() !== ""; ++end) {
    const line = UNDERLINE.exec(lines[end]);
    if (line) return { kind: "heading", level: line[1][0] === "=" ? 1 : 2, text: lines.slice(start, end).join("\n"), end: end + 1 };
    if (interrupts(lines, end)) break;
  }
  return { kind: "text", text: lines.slice(start, end).join("\n"), end };
}

function interrupts(lines, at) {
  const line = lines[at];
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || /^ {0,3}>/.test(line) ||
    ITEM.test(line) || isTable(lines, at);
}

// ---- elements

function element(name, className) {
  const made = document.createElement(name);
  if (className) made.className = className;
  return made;
}

function renderBlocks(lines, depth) {
  const out = document.createDocumentFragment();
  if (depth >= DEEPEST) out.append(lines.join("\n"));
  else for (const block of splitBlocks(lines)) out.append(renderBlock(block, depth));
  return out;
}

function renderBlock(block, depth) {
  switch (block.kind) {
    case "code":
      return renderCode(block);
    case "heading":
      return withInline(element("h" + Math.min(6, block.level + 2)), block.text);
    case "rule":
      return element("hr");
    case "quote": {
      const quote = element("blockquote");
      quote.append(renderBlocks(block.lines, depth + 1));
      return quote;
    }
    case "list":
      return renderList(block, depth);
    case "table":
      return renderTable(block);
    default:
      return withInline(element("p"), block.text);
  }
}

function renderCode(block) {
  const frame = element("figure", "code");
  const bar = element("figcaption");
  const name = element("span");
  name.textContent = block.language;
  const copy = element("button", "copy-code");
  copy.type = "button";
  copy.textContent = "Copy";
  bar.append(name, copy);
  const pre = element("pre");
  pre.tabIndex = 0; // so that the keyboard can scroll it
  const code = element("code");
  code.textContent = block.text;
  pre.append(code);
  frame.append(bar, pre);
  return frame;
}

function renderList(block, depth) {
  const list = element(block.ordered ? "ol" : "ul");
  if (block.ordered && block.from !== 1) list.start = block.from;
  for (const lines of block.items) {
    const item = element("li");
    const content = renderBlocks(lines, depth + 1);
    // A lone paragraph needs no space around it.
    const first = content.firstElementChild;
    if (first && first.tagName === "P" && lines.every((line) => line !== "")) first.replaceWith(...first.childNodes);
    item.append(content);
    list.append(item);
  }
  return list;
}

function renderTable(block) {
  const frame = element("div", "table");
  frame.tabIndex = 0;
  const table = element("table");
  const addRow = (place, texts, tag) => {
    const row = element("tr");
    block.head.forEach((_, i) => row.append(withInline(element(tag, block.sides[i] || "left"), texts[i] || "")));
    place.append(row);
  };
  addRow(table.createTHead(), block.head, "th");
  const body = table.createTBody();
  for (const row of block.rows) addRow(body, row, "td");
  frame.append(table);
  return frame;
}
