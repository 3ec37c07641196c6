// The page: a chat with this server, the draft trees of its answers, and a view of what it does.
// Conversations are kept in this browser, an API key only until the tab is closed. What a model
// writes becomes text and elements made here, never HTML (see markdown.js).
import { button, make, row } from "./elements.js";
import { renderMarkdown } from "./markdown.js";
import { readReport, showReport } from "./tune_report.js";

const $ = (id) => document.getElementById(id);
const KEY = "foretoken-key"; // in sessionStorage
const POLL_MS = 2000; // between two looks at what the server does
const KEPT_POINTS = 60; // of its throughput
const MOST_IMPORTED_BYTES = 64 << 20;

const state = {
  model: "",
  conversations: [], // newest first
  current: null,
  running: null, // {controller, conversation, message}: the answer that comes
  traced: null, // the message whose tree is shown
  step: -1, // of its trace, that was asked for; -1: the newest
  shown: 0, // the one that is shown
  throughput: [],
  drafters: [], // names, in the order of their colours
};
const views = new Map(); // of the messages on the page: message -> its elements
const traces = new WeakMap(); // message -> its steps and sums over them; not kept beyond the page

// ---- what is kept

const store = {
  database: null,
  async open() {
    const request = indexedDB.open("foretoken", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("conversations", { keyPath: "id" });
    this.database = await settled(request);
  },
  place(mode) {
    return this.database.transaction("conversations", mode).objectStore("conversations");
  },
  async all() {
    return this.database ? settled(this.place("readonly").getAll()) : [];
  },
  async put(conversation) {
    if (this.database) await settled(this.place("readwrite").put(structuredClone(conversation)));
  },
  async remove(id) {
    if (this.database) await settled(this.place("readwrite").delete(id));
  },
};

function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function save(conversation) {
  store.put(conversation).catch((error) => tell("import-note", `Not kept: ${error.message}`, true));
}

function recall(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function remember(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing still chats.
  }
}

function tell(id, text, isFault = false) {
  $(id).textContent = text;
  $(id).classList.toggle("warn", isFault);
}

// ---- the server

class Refused extends Error {}

let keyQuestion = null; // while it is asked, for all who want it

function askKey(note) {
  keyQuestion ??= new Promise((resolve) => {
    const dialog = $("key-dialog");
    $("key-note").textContent = note;
    $("key").value = "";
    dialog.onclose = () => {
      keyQuestion = null;
      const given = dialog.returnValue === "ok" && $("key").value !== "";
      if (given) sessionStorage.setItem(KEY, $("key").value);
      $("key").value = "";
      resolve(given);
    };
    dialog.returnValue = "";
    dialog.showModal();
    $("key").focus();
  });
  return keyQuestion;
}

async function call(path, options = {}) {
  for (;;) {
    const key = sessionStorage.getItem(KEY);
    const headers = { ...options.headers };
    if (key) headers.Authorization = `Bearer ${key}`;
    const response = await fetch(path, { ...options, headers, cache: "no-store" });
    if (response.status !== 401) return response;
    const isStale = key !== sessionStorage.getItem(KEY); // another one was given meanwhile
    if (!isStale && !(await askKey(key ? "The server does not take this key." : "")))
      throw new Refused("The server wants a key.");
  }
}

async function callJson(path) {
  const response = await call(path);
  if (!response.ok) throw new Refused(await faultOf(response));
  return response.json();
}

async function faultOf(response) {
  const text = await response.text();
  try {
    const body = JSON.parse(text);
    const fault = body.message ?? body.error?.message ?? body.error;
    if (typeof fault === "string") return fault;
  } catch {
    // not JSON
  }
  return `The server answered ${response.status}. ${text.slice(0, 300)}`;
}

// The payloads of a stream of events, to its mark of the end.
async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Refused("The connection was cut before the answer was complete.");
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      if (event === "data: [DONE]") return;
      if (event.startsWith("data: ")) yield JSON.parse(event.slice(6));
    }
  }
}

// Asks again for as long as the model is being loaded.
async function greet() {
  try {
    const response = await call("/v1/models");
    if (response.status === 503) setTimeout(greet, POLL_MS);
    if (!response.ok) throw new Refused(await faultOf(response));
    state.model = (await response.json()).data[0].id;
    $("model").textContent = state.model;
    document.title = `foretoken · ${state.model}`;
  } catch (error) {
    $("model").textContent = error instanceof Refused ? error.message : "The server cannot be reached.";
  }
}

// ---- asking for an answer

function samplingFields() {
  const fields = {};
  for (const input of document.querySelectorAll("#settings [data-field]"))
    if (input.value !== "") fields[input.dataset.field] = Number(input.value);
  const stops = $("stops").value.split("\n").filter((line) => line !== "");
  if (stops.length > 0) fields.stop = stops;
  fields.seed ??= crypto.getRandomValues(new Uint32Array(1))[0] >>> 1;
  return fields;
}

function readTools() {
  const text = $("tools").value.trim();
  tell("tools-note", "");
  if (text === "") return [];
  try {
    const tools = JSON.parse(text);
    if (Array.isArray(tools)) return tools;
  } catch {
    // told below
  }
  tell("tools-note", "The tools are no JSON list.", true);
  showSettings(true);
  return null;
}

function wordedFor(message) {
  if (message.role !== "assistant") return message;
  const out = { role: "assistant", content: message.content };
  if (message.reasoning) out.reasoning_content = message.reasoning;
  if (message.calls?.length > 0)
    out.tool_calls = message.calls.map(({ id, name, args }) => ({
      id, type: "function", function: { name, arguments: args },
    }));
  return out;
}

function isWorthSending(message) {
  return message.role !== "assistant" || message.content !== "" || message.calls?.length > 0;
}

function bodyOf(conversation, before, fields, withDrafts) {
  const messages = conversation.messages.slice(0, before).filter(isWorthSending).map(wordedFor);
  if (conversation.system) messages.unshift({ role: "system", content: conversation.system });
  const { tools, ...sampling } = fields;
  return {
    model: state.model, messages, ...sampling, ...(tools?.length > 0 ? { tools } : {}),
    stream: true, stream_options: { include_usage: true },
    speculative: { enabled: withDrafts, trace: $("colours").checked },
  };
}

// Streams an answer into `message`; `changed` is called as it grows.
async function stream(body, message, signal, changed) {
  const response = await call("/v1/chat/completions", {
    method: "POST", signal, body: JSON.stringify(body), headers: { "Content-Type": "application/json" },
  });
  if (!response.ok) throw new Refused(await faultOf(response));
  let first = 0, last = 0;
  for await (const event of eventsOf(response)) {
    if (event.error) throw new Refused(event.error.message);
    if (event.usage) message.stats.tokens = event.usage.completion_tokens;
    const choice = event.choices[0];
    if (!choice) continue;
    if (!choice.delta.role) {
      last = performance.now();
      first ||= last;
    }
    addDelta(message, choice);
    message.stats.seconds = (last - first) / 1000;
    changed();
  }
}

function addDelta(message, choice) {
  const { delta, speculative } = choice;
  message.content += delta.content ?? "";
  message.reasoning += delta.reasoning_content ?? "";
  for (const part of delta.tool_calls ?? []) {
    const call = (message.calls[part.index] ??= { id: "", name: "", args: "" });
    call.id ||= part.id ?? "";
    call.name += part.function.name ?? "";
    call.args += part.function.arguments ?? "";
  }
  if (choice.finish_reason) message.finish = choice.finish_reason;
  if (!speculative) return;
  if (speculative.trace) addSteps(message, speculative.trace);
  if (speculative.verify_steps === undefined) return;
  message.stats.steps = speculative.verify_steps;
  message.stats.accepted = speculative.accepted_by_depth.reduce((sum, n) => sum + n, 0);
  message.stats.drafters = speculative.drafters;
}

function addSteps(message, steps) {
  if (!traces.has(message)) traces.set(message, { steps: [], tokens: 0, counts: new Map() });
  const trace = traces.get(message);
  for (const step of steps) {
    trace.steps.push(step);
    trace.tokens += step.output.length;
    for (const draft of step.drafts)
      for (const name of draft.drafters) {
        if (!trace.counts.has(name)) trace.counts.set(name, { proposed: 0, accepted: 0 });
        const count = trace.counts.get(name);
        ++count.proposed;
        count.accepted += draft.accepted ? 1 : 0;
      }
  }
}

const stepsOf = (message) => traces.get(message)?.steps ?? [];

function emptyAnswer(fields, withDrafts) {
  return {
    role: "assistant", content: "", reasoning: "", calls: [], finish: "", fault: "", fields,
    stats: { tokens: 0, seconds: 0, steps: 0, accepted: 0, drafters: {}, drafts: withDrafts },
  };
}

async function answer(conversation) {
  const tools = readTools();
  if (tools === null || state.running) return;
  const fields = { ...samplingFields(), tools };
  const withDrafts = $("drafts").checked;
  const message = emptyAnswer(fields, withDrafts);
  const body = bodyOf(conversation, conversation.messages.length, fields, withDrafts);
  conversation.messages.push(message);
  const controller = new AbortController();
  state.running = { controller, conversation, message };
  if (body.speculative.trace) follow(message);
  showRunning();
  showConversation();
  try {
    await stream(body, message, controller.signal, () => soon(message));
  } catch (error) {
    if (controller.signal.aborted) message.finish = "stopped";
    else message.fault = error instanceof Refused ? error.message : "The connection to the server was lost.";
  }
  state.running = null;
  showRunning();
  save(conversation);
  if (state.current === conversation) showConversation();
}

// The same request the other way round: with drafts if it had none. The text must be the same.
async function compare(conversation, message) {
  if (state.running) return;
  const at = conversation.messages.indexOf(message);
  const other = emptyAnswer(message.fields, !message.stats.drafts);
  const controller = new AbortController();
  state.running = { controller, conversation, message: other };
  showRunning();
  const line = (text) => {
    message.comparison = text;
    if (views.has(message)) views.get(message).comparison.textContent = text;
  };
  const name = other.stats.drafts ? "with drafts" : "without drafts";
  line(`${name}: …`);
  try {
    const body = bodyOf(conversation, at, message.fields, other.stats.drafts);
    await stream(body, other, controller.signal, () => line(`${name}: ${speedOf(other)} …`));
    const isSame = other.content === message.content && other.reasoning === message.reasoning;
    line(`${name}: ${speedOf(other)} · ${isSame ? "the same text" : "another text"}`);
  } catch (error) {
    line(`${name}: ${controller.signal.aborted ? "stopped" : error.message}`);
  }
  state.running = null;
  showRunning();
  save(conversation);
}

function speedOf({ stats }) {
  const parts = [];
  if (stats.tokens > 0) parts.push(`${stats.tokens} tokens`);
  if (stats.tokens > 1 && stats.seconds > 0)
    parts.push(`${((stats.tokens - 1) / stats.seconds).toFixed(1)} tokens/s`);
  if (stats.drafts && stats.steps > 0) parts.push(`accept length ${((stats.steps + stats.accepted) / stats.steps).toFixed(2)}`);
  if (!stats.drafts) parts.push("drafts off");
  return parts.join(" · ");
}

// ---- messages on the page

const waiting = new Set();

// Shows the growth of a message in the next frame.
function soon(message) {
  if (waiting.size === 0)
    requestAnimationFrame(() => {
      const list = $("messages");
      const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
      for (const each of waiting) if (views.has(each)) showMessage(each);
      waiting.clear();
      if (isAtEnd) list.scrollTop = list.scrollHeight;
    });
  waiting.add(message);
}

function showConversation() {
  const conversation = state.current;
  const list = $("messages");
  views.clear();
  list.replaceChildren();
  if (!conversation) return;
  $("system").value = conversation.system;
  conversation.messages.forEach((message, index) => {
    list.append(viewOf(conversation, message, index));
    showMessage(message);
  });
  list.scrollTop = list.scrollHeight;
  showList();
}

function viewOf(conversation, message, index) {
  const view = {
    frame: make("article", { className: `message ${message.role}` }),
    body: make("div", { className: "body" }),
    actions: make("div", { className: "actions" }),
    comparison: make("span", { className: "faint", textContent: message.comparison ?? "" }),
  };
  const names = { user: "You", assistant: state.model || "Model", tool: "Result of a call" };
  view.frame.append(make("div", { className: "who", textContent: names[message.role] }));
  if (message.role === "assistant") {
    view.thoughts = make("details", {}, make("summary", { textContent: "Reasoning" }), make("div"));
    view.tokens = make("div", { className: "tokens" });
    view.calls = make("div");
    view.fault = make("p", { className: "fault", role: "alert" });
    view.speed = make("span", { className: "faint speed" });
    view.frame.append(view.thoughts, view.body, view.tokens, view.calls, view.fault);
    addAnswerActions(view, conversation, message, index);
  } else {
    view.body.textContent = message.content;
    if (message.content.length > 2000) view.body.tabIndex = 0;
    view.frame.append(view.body);
    view.actions.append(button("Copy", (event) => copy(message.content, event.target)));
    if (message.role === "user") view.actions.append(button("Edit", () => edit(conversation, message, index, view)));
  }
  view.frame.append(view.actions);
  views.set(message, view);
  return view.frame;
}

function addAnswerActions(view, conversation, message, index) {
  const isRunning = state.running?.message === message;
  if (!isRunning) {
    view.actions.append(
      button("Copy", (event) => copy(message.content, event.target)),
      button("Again", () => {
        if (state.running) return;
        conversation.messages.length = index;
        answer(conversation);
      }));
    if (message.content && !message.fault && message.finish !== "stopped")
      view.actions.append(button(message.stats.drafts ? "Compare without drafts" : "Compare with drafts",
        () => compare(conversation, message)));
  }
  view.actions.append(view.speed, view.comparison);
}

function showMessage(message) {
  const view = views.get(message);
  if (message.role !== "assistant") return;
  view.thoughts.hidden = !message.reasoning;
  view.thoughts.lastElementChild.textContent = message.reasoning;
  view.fault.textContent = message.fault;
  const isColoured = $("colours").checked && traces.has(message);
  view.body.hidden = isColoured;
  view.tokens.hidden = !isColoured;
  if (isColoured) showTokens(message, view);
  else renderMarkdown(view.body, message.content);
  showCalls(message, view);
  const end = { stopped: "stopped", length: "cut at the limit of tokens", abort: "aborted" }[message.finish];
  view.speed.textContent = [speedOf(message), end].filter(Boolean).join(" · ");
  if (state.traced === message) showTree();
}

function showCalls(message, view) {
  if (message.calls.length === 0) return;
  view.calls.replaceChildren(...message.calls.map((one) => {
    let args = one.args;
    try {
      args = JSON.stringify(JSON.parse(args), null, 2);
    } catch {
      // still coming, or cut
    }
    return make("div", { className: "call" }, `Call of ${one.name}`, make("pre", { textContent: args, tabIndex: 0 }));
  }));
  const conversation = state.current;
  if (state.running?.message === message || conversation.messages.at(-1) !== message) return;
  const results = message.calls.map((one) =>
    make("textarea", { rows: 2, placeholder: `Result of ${one.name}`, ariaLabel: `Result of ${one.name}` }));
  view.calls.append(...results, button("Send results", () => {
    message.calls.forEach((one, i) =>
      conversation.messages.push({ role: "tool", tool_call_id: one.id, content: results[i].value }));
    answer(conversation);
  }));
}

function edit(conversation, message, index, view) {
  const text = make("textarea", { value: message.content, rows: 4, ariaLabel: "Message" });
  const done = () => {
    if (state.running || text.value.trim() === "") return;
    conversation.messages.length = index;
    conversation.messages.push({ role: "user", content: text.value });
    answer(conversation);
  };
  view.body.hidden = true;
  view.actions.replaceChildren(text, button("Send again", done), button("Cancel", showConversation));
  text.focus();
}

async function copy(text, from) {
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
  const name = from.textContent;
  from.textContent = "Copied";
  setTimeout(() => (from.textContent = name), 1200);
}

// ---- who drafted what

function colourOf(drafters) {
  if (drafters.length === 0) return "";
  const name = drafters[0];
  if (!state.drafters.includes(name)) state.drafters.push(name);
  return `d${state.drafters.indexOf(name) % 6}`;
}

// Tokens as they came; one that ends in the middle of a character shows it with the one that
// completes it.
function showTokens(message, view) {
  const steps = stepsOf(message);
  view.shown ??= { steps: 0, decoder: new TextDecoder() };
  const encoder = new TextEncoder();
  for (; view.shown.steps < steps.length; ++view.shown.steps) {
    const number = view.shown.steps, step = steps[number];
    for (const token of step.output) {
      const bytes = token.bytes ? Uint8Array.from(token.bytes) : encoder.encode(token.text);
      const drafters = token.draft === null ? [] : step.drafts[token.draft].drafters;
      const text = token.special ? "" : view.shown.decoder.decode(bytes, { stream: true });
      const span = make("span", { textContent: text, className: colourOf(drafters) });
      span.title = token.draft === null ? "by the model itself" : `drafted by ${drafters.join(", ") || "unknown"}`;
      span.dataset.step = number;
      view.tokens.append(span);
    }
  }
}

function follow(message) {
  state.traced = message;
  state.step = -1;
}

function showTree() {
  const steps = stepsOf(state.traced);
  $("trace").hidden = !$("colours").checked || steps.length === 0;
  if ($("trace").hidden) return;
  // The newest of an answer that comes; of one that is there, the last that had drafts.
  const last = state.running ? -1 : steps.findLastIndex((step) => step.drafts.length > 0);
  const newest = last < 0 ? steps.length - 1 : last;
  const number = state.step < 0 ? newest : Math.min(state.step, steps.length - 1);
  const step = steps[number];
  state.shown = number;
  const accepted = step.drafts.filter((draft) => draft.accepted).length;
  $("step-name").textContent =
    `step ${number + 1} of ${steps.length}: ${step.drafts.length} proposed, ${accepted} accepted`;
  $("step-back").disabled = number === 0;
  $("step-on").disabled = number === steps.length - 1;
  const before = number > 0 ? steps[number - 1].output.at(-1).text : "";
  $("tree").replaceChildren(treeOf(step, before));
  showLegend(traces.get(state.traced));
  const view = views.get(state.traced);
  if (!view) return;
  for (const old of view.tokens.querySelectorAll(".of-step")) old.classList.remove("of-step");
  if (state.step >= 0)
    for (const span of view.tokens.querySelectorAll(`[data-step="${number}"]`)) span.classList.add("of-step");
}

function showLegend({ steps, tokens, counts }) {
  $("legend").replaceChildren(
    ...[...counts].map(([name, { proposed, accepted }]) =>
      make("span", { className: colourOf([name]), textContent: `${name} ${accepted} of ${proposed}` })),
    make("span", { textContent: `${(tokens / steps.length).toFixed(2)} tokens a step` }));
}

function drawn(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const visible = (text) => {
  const shown = text.replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll(" ", "␣");
  return shown.length > 11 ? shown.slice(0, 10) + "…" : shown;
};

// The root on the left, children to the right of their parent; the first child in its row.
function treeOf(step, root) {
  const wide = 130, high = 30, width = 112, height = 22;
  const children = new Map();
  step.drafts.forEach((draft, i) => children.set(draft.parent, [...(children.get(draft.parent) ?? []), i]));
  const places = new Map();
  let rows = 0;
  const lay = (node, depth) => {
    const below = children.get(node) ?? [];
    places.set(node, { x: depth * wide + 2, y: rows * high + 2 });
    below.forEach((child, i) => {
      if (i > 0) ++rows;
      lay(child, depth + 1);
    });
  };
  lay(-1, 0);
  const all = [...places.values()];
  const svg = drawn("svg", {
    width: Math.max(...all.map(({ x }) => x)) + width + 4, height: (rows + 1) * high, role: "img",
    "aria-label": `${step.drafts.length} drafts, accepted: ` +
      step.drafts.filter((draft) => draft.accepted).map((draft) => draft.text).join(""),
  });
  const box = (place, text, className, title) => [
    drawn("title", {}, title),
    drawn("rect", { x: place.x, y: place.y, width, height, rx: 5, class: className }),
    drawn("text", { x: place.x + 6, y: place.y + 15 }, visible(text)),
  ];
  svg.append(drawn("g", {}, ...box(places.get(-1), root, "root", "the last token of the text")));
  step.drafts.forEach((draft, i) => {
    const place = places.get(i), parent = places.get(draft.parent), middle = place.x - 9;
    const taken = draft.accepted ? "taken" : "";
    const path = `M${parent.x + width} ${parent.y + 11}H${middle}V${place.y + 11}H${place.x}`;
    const title = `${JSON.stringify(draft.text)}: ${draft.drafters.join(", ") || "unknown"}, ` +
      `chance ${draft.chance.toFixed(2)}, ${draft.accepted ? "accepted" : "not accepted"}`;
    svg.prepend(drawn("path", { d: path, class: taken }));
    svg.append(drawn("g", { class: draft.accepted ? "" : "left" },
      ...box(place, draft.text ?? String(draft.token), `${colourOf(draft.drafters)} ${taken}`, title),
      drawn("text", { x: place.x + width - 24, y: place.y + 14, class: "chance" }, draft.chance.toFixed(2).replace(/^0/, ""))));
  });
  return svg;
}

function goToStep(number) {
  const steps = stepsOf(state.traced);
  state.step = Math.max(0, Math.min(steps.length - 1, number));
  showTree();
}

// ---- conversations

function newConversation() {
  const conversation = {
    id: crypto.randomUUID?.() ?? String(Math.random()).slice(2), title: "New conversation", changed: Date.now(),
    system: recall("system", ""), messages: [],
  };
  state.conversations.unshift(conversation);
  select(conversation);
}

function select(conversation) {
  state.current = conversation;
  state.traced = conversation.messages.findLast((message) => traces.has(message)) ?? null;
  state.step = -1;
  $("trace").hidden = true;
  showConversation();
  if (state.traced) showTree();
  toggleSidebar(false);
}

function showList() {
  $("conversations").replaceChildren(...state.conversations.map((conversation) => {
    const remove = button("✕", () => {
      if (remove.textContent === "✕") {
        remove.textContent = "Delete?";
        return;
      }
      if (state.running?.conversation === conversation) state.running.controller.abort();
      state.conversations = state.conversations.filter((each) => each !== conversation);
      store.remove(conversation.id).catch(() => {});
      if (state.conversations.length === 0) newConversation();
      else if (state.current === conversation) select(state.conversations[0]);
      else showList();
    }, { ariaLabel: `Delete ${conversation.title}` });
    const open = button(conversation.title, () => select(conversation), { className: "open", title: conversation.title });
    open.setAttribute("aria-current", conversation === state.current);
    return make("li", {}, open, remove);
  }));
}

function send(text) {
  const conversation = state.current;
  if (state.running || text.trim() === "") return;
  if (conversation.messages.length === 0) conversation.title = text.trim().replace(/\s+/g, " ").slice(0, 40);
  conversation.messages.push({ role: "user", content: text });
  conversation.changed = Date.now();
  $("prompt").value = "";
  save(conversation);
  answer(conversation);
}

function exportAll() {
  const text = JSON.stringify({ format: "foretoken-conversations", version: 1, conversations: state.conversations }, null, 1);
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  make("a", { href: address, download: "foretoken-conversations.json" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// Only what the page itself would have written, whatever the file holds.
function importedMessage(given) {
  if (!["user", "assistant", "tool"].includes(given?.role) || typeof given.content !== "string") return null;
  if (given.role === "tool") return { role: "tool", content: given.content, tool_call_id: String(given.tool_call_id ?? "") };
  if (given.role === "user") return { role: "user", content: given.content };
  const message = emptyAnswer(
    typeof given.fields === "object" && given.fields !== null ? given.fields : {}, given.stats?.drafts !== false);
  message.content = given.content;
  message.reasoning = String(given.reasoning ?? "");
  for (const name of ["finish", "fault"]) message[name] = String(given[name] ?? "");
  for (const name of ["tokens", "seconds", "steps", "accepted"]) message.stats[name] = Number(given.stats?.[name]) || 0;
  message.calls = (Array.isArray(given.calls) ? given.calls : []).map((one) => ({
    id: String(one?.id ?? ""), name: String(one?.name ?? ""), args: String(one?.args ?? ""),
  }));
  return message;
}

async function importFile(file) {
  try {
    if (file.size > MOST_IMPORTED_BYTES) throw new Error("it is larger than 64 MiB");
    const { conversations } = JSON.parse(await file.text());
    if (!Array.isArray(conversations)) throw new Error("it holds no conversations");
    const read = conversations.map((given) => {
      const messages = (Array.isArray(given?.messages) ? given.messages : [null]).map(importedMessage);
      if (messages.includes(null)) throw new Error("a conversation in it is damaged");
      return {
        id: crypto.randomUUID?.() ?? String(Math.random()).slice(2), title: String(given.title ?? "Imported").slice(0, 100),
        changed: Number(given.changed) || Date.now(), system: String(given.system ?? ""), messages,
      };
    });
    state.conversations.unshift(...read);
    read.forEach(save);
    if (read.length > 0) select(read[0]);
    tell("import-note", `${read.length} conversations were added.`);
  } catch (error) {
    tell("import-note", `This file cannot be read: ${error.message}.`, true);
  }
}

// ---- the server's view

let pollTimer = 0;

function gauge(name, value, more) {
  return make("div", { className: "gauge" }, make("span", { className: "faint", textContent: name }),
    make("b", { textContent: value }), ...(more ? [more] : []));
}

function sparkline(points) {
  const most = Math.max(1, ...points);
  const line = points.map((point, i) => `${(i * 100) / (KEPT_POINTS - 1)},${30 - (28 * point) / most}`).join(" ");
  return drawn("svg", { viewBox: "0 0 100 32", preserveAspectRatio: "none", "aria-hidden": "true" }, drawn("polyline", { points: line }));
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const gib = (amount) => `${amount.toFixed(2)} GiB`;

function showLoad(load) {
  state.throughput = [...state.throughput, load.gen_throughput].slice(-KEPT_POINTS);
  const gauges = [
    gauge("in the batch", `${load.num_running_reqs} of ${load.max_running_requests}`),
    gauge("in the queue", String(load.num_waiting_reqs)),
    gauge("tokens/s", load.gen_throughput.toFixed(1), sparkline(state.throughput)),
    gauge(`KV cache in use, of ${load.max_total_num_tokens} tokens`, percent(load.token_usage)),
    gauge("prompt tokens from the cache", percent(load.cache_hit_rate)),
    gauge("memory of weights", gib(load.memory.weight_gb)),
    gauge("memory of the KV cache", gib(load.memory.kv_cache_gb)),
  ];
  if (load.speculative)
    gauges.push(gauge("accept length", load.speculative.accept_length.toFixed(2)),
      gauge("accepted of proposed drafts", percent(load.speculative.accept_rate)));
  $("gauges").replaceChildren(...gauges);
}

function showDrafters(drafts) {
  const rows = Object.entries(drafts?.drafters ?? {}).map(([name, { proposed, accepted }]) =>
    row([name, proposed, accepted, proposed ? percent(accepted / proposed) : "",
      drafts.verify_steps ? (accepted / drafts.verify_steps).toFixed(2) : ""]));
  if (rows.length === 0) rows.push(make("tr", {}, make("td", { colSpan: 5, textContent: "Nothing was drafted so far." })));
  $("drafters").tBodies[0].replaceChildren(...rows);
}

function showFlags(info) {
  const wanted = $("flag-filter").value.trim().toLowerCase();
  const rows = Object.entries(info).filter(([name, value]) =>
    name !== "internal_states" && name !== "startup_time" && `${name} ${JSON.stringify(value)}`.toLowerCase().includes(wanted));
  $("flags").tBodies[0].replaceChildren(...rows.map(([name, value]) =>
    row([name, value === null ? "" : JSON.stringify(value)])));
}

async function openReport(file) {
  try {
    if (file.size > MOST_IMPORTED_BYTES) throw new Error("it is larger than 64 MiB");
    showReport(readReport(await file.text()), $("report"));
    tell("report-note", "");
  } catch (error) {
    $("report").replaceChildren();
    tell("report-note", `${file.name} cannot be read: ${error.message}.`, true);
  }
}

async function poll() {
  clearTimeout(pollTimer);
  if ($("server-view").hidden) return;
  try {
    const loads = await callJson("/v1/loads?include=all");
    const info = await callJson("/server_info");
    state.info = info;
    showLoad(loads.loads[0]);
    showDrafters(info.internal_states[0].drafts);
    showFlags(info);
    tell("server-note", "");
  } catch (error) {
    tell("server-note", error instanceof Refused ? error.message : "The server cannot be reached.", true);
    if (error instanceof Refused) return; // asking again would open the dialog again
  }
  pollTimer = setTimeout(poll, POLL_MS);
}

// ---- the frame

function showRunning() {
  const isRunning = state.running !== null;
  const hadFocus = document.activeElement === $("send") || document.activeElement === $("stop");
  $("send").hidden = isRunning;
  $("stop").hidden = !isRunning;
  if (hadFocus) (isRunning ? $("stop") : $("prompt")).focus();
}

function showView(name) {
  for (const each of ["chat", "server"]) {
    $(`${each}-view`).hidden = each !== name;
    $(`show-${each}`).setAttribute("aria-pressed", each === name);
  }
  if (name === "server") poll();
}

function showSettings(isOpen) {
  $("settings").hidden = !isOpen;
  $("open-settings").setAttribute("aria-expanded", isOpen);
}

function toggleSidebar(isOpen) {
  $("sidebar").classList.toggle("shown", isOpen);
  $("menu").setAttribute("aria-expanded", isOpen);
}

function listenToFrame() {
  $("show-chat").onclick = () => showView("chat");
  $("show-server").onclick = () => showView("server");
  $("menu").onclick = () => toggleSidebar(!$("sidebar").classList.contains("shown"));
  $("open-settings").onclick = () => showSettings($("settings").hidden);
  $("close-settings").onclick = () => {
    showSettings(false);
    $("open-settings").focus();
  };
  $("theme").onclick = () => {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    remember("theme", root.dataset.theme);
  };
  $("colours").onchange = () => {
    for (const message of views.keys()) showMessage(message);
    state.traced ??= state.current.messages.findLast((message) => traces.has(message)) ?? null;
    if (state.traced) showTree();
    else $("trace").hidden = true;
  };
  $("open-report").onclick = () => $("report-file").click();
  $("report-file").onchange = async (event) => {
    for (const file of event.target.files) await openReport(file);
    event.target.value = "";
  };
  $("flag-filter").oninput = () => state.info && showFlags(state.info);
  $("step-back").onclick = () => goToStep(state.shown - 1);
  $("step-on").onclick = () => goToStep(state.shown + 1);
  $("key-cancel").onclick = () => $("key-dialog").close("");
  document.onkeydown = (event) => {
    if (event.key !== "Escape" || $("key-dialog").open) return;
    if (state.running) state.running.controller.abort();
    else if (!$("settings").hidden) $("close-settings").click();
    else toggleSidebar(false);
  };
}

function listenToChat() {
  $("new").onclick = () => {
    newConversation();
    $("prompt").focus();
  };
  $("export").onclick = exportAll;
  $("import").onclick = () => $("import-file").click();
  $("import-file").onchange = async (event) => {
    for (const file of event.target.files) await importFile(file);
    event.target.value = "";
  };
  $("composer").onsubmit = (event) => {
    event.preventDefault();
    send($("prompt").value);
  };
  $("prompt").onkeydown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send($("prompt").value);
  };
  $("stop").onclick = () => state.running?.controller.abort();
  $("system").onchange = () => {
    state.current.system = $("system").value;
    remember("system", $("system").value);
    save(state.current);
  };
  $("messages").onclick = ({ target }) => {
    if (target.classList.contains("copy-code"))
      copy(target.closest("figure").querySelector("code").textContent, target);
    const step = target.dataset?.step;
    if (step === undefined) return;
    for (const [message, view] of views) if (view.tokens?.contains(target)) state.traced = message;
    goToStep(Number(step));
  };
}

const KEPT_SETTINGS = ["stops", "tools"];

function listenToSettings() {
  const kept = recall("settings", {});
  const inputs = [...document.querySelectorAll("#settings [data-field]")];
  for (const input of inputs) input.value = kept[input.dataset.field] ?? "";
  for (const id of KEPT_SETTINGS) $(id).value = kept[id] ?? "";
  $("settings").addEventListener("change", () => {
    const now = {};
    for (const input of inputs) now[input.dataset.field] = input.value;
    for (const id of KEPT_SETTINGS) now[id] = $(id).value;
    remember("settings", now);
  });
}

async function start() {
  const theme = recall("theme", "");
  if (theme) document.documentElement.dataset.theme = theme;
  listenToFrame();
  listenToChat();
  listenToSettings();
  try {
    await store.open();
    state.conversations = (await store.all()).sort((a, b) => b.changed - a.changed);
  } catch {
    tell("import-note", "This browser keeps nothing: conversations end with the page.");
  }
  if (state.conversations.length > 0) select(state.conversations[0]);
  else newConversation();
  document.documentElement.dataset.ready = "true";
  await greet();
}

start();
