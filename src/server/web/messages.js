// The messages of a conversation on the page. What has not changed keeps its elements, so that an open edit box, a chosen
// text and a place that was scrolled to outlive the answers that come.
import { acceptLength, isWhole } from "./conversation.js";
import { $, button, copy, make } from "./elements.js";
import { renderMarkdown } from "./markdown.js";
import { state } from "./state.js";
import { hasTrace } from "./trace.js";
import { followLast, goToStepOf, isFollowed, showTokens, showTree } from "./tree.js";

const NEAR_END = 80; // pixels from the end of the list that still count as its end
const LONG = 2000; // characters from which on a message may have to be scrolled by keys

const views = new Map(); // message -> its elements
let shown = null; // the conversation that they are of
let deeds = {}; // what the buttons do: again, edit, compare, sendResults

const isComing = (message) => state.running?.message === message;

// ---- the list

function isAtEnd() {
  const list = $("messages");
  return list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_END;
}

function scrollToEnd() {
  $("messages").scrollTop = $("messages").scrollHeight;
}

// Brings the page up to date with the current conversation.
export function showConversation() {
  const conversation = state.current, list = $("messages");
  const staysAtEnd = shown !== conversation || isAtEnd();
  if (shown !== conversation) {
    views.clear();
    list.replaceChildren();
    shown = conversation;
  }
  const kept = new Set(conversation.messages);
  for (const [message, view] of views) {
    if (kept.has(message)) continue;
    view.frame.remove();
    views.delete(message);
  }
  conversation.messages.forEach((message, i) => {
    if (!views.has(message)) views.set(message, viewOf(conversation, message));
    const { frame } = views.get(message);
    if (list.children[i] !== frame) list.insertBefore(frame, list.children[i] ?? null);
    showMessage(message);
  });
  if (staysAtEnd) scrollToEnd();
}

const waiting = new Set();

// Shows the growth of a message in the next frame.
export function showSoon(message) {
  if (waiting.size === 0)
    requestAnimationFrame(() => {
      const staysAtEnd = isAtEnd();
      for (const each of waiting) showMessage(each);
      waiting.clear();
      if (staysAtEnd) scrollToEnd();
    });
  waiting.add(message);
}

// ---- a message

function viewOf(conversation, message) {
  const view = {
    frame: make("article", { className: `message ${message.role}` }),
    body: make("div", { className: "body" }),
    actions: make("div", { className: "actions" }),
  };
  const names = { user: "You", assistant: message.sent?.model || state.model || "Model", tool: "Result of a call" };
  view.frame.append(make("div", { className: "who", textContent: names[message.role] }));
  view.actions.append(button("Copy", (event) => copy(message.content, event.target)));
  if (message.role === "assistant") {
    addAnswer(view, conversation, message);
  } else {
    view.body.textContent = message.content;
    view.body.dir = "auto";
    if (message.content.length > LONG) view.body.tabIndex = 0;
    view.frame.append(view.body);
    if (message.role === "user") view.actions.append(button("Edit", () => openEdit(conversation, message, view)));
  }
  view.frame.append(view.actions);
  return view;
}

function addAnswer(view, conversation, message) {
  view.thoughts = make("details", {}, make("summary", { textContent: "Reasoning" }), make("div", { dir: "auto" }));
  view.tokens = make("div", { className: "tokens", dir: "auto" });
  view.progress = {}; // of showing tokens
  view.calls = make("div");
  view.results = make("div");
  view.fault = make("p", { className: "fault", role: "alert" });
  view.speed = make("span", { className: "faint speed" });
  view.comparison = make("span", { className: "faint comparison" });
  view.compare = button("", () => deeds.compare(conversation, message));
  view.frame.append(view.thoughts, view.body, view.tokens, view.calls, view.results, view.fault);
  view.actions.append(button("Again", () => deeds.again(conversation, message)), view.compare, view.speed, view.comparison);
}

export function showMessage(message) {
  const view = views.get(message);
  if (!view || message.role !== "assistant") return;
  view.thoughts.hidden = !message.reasoning;
  view.thoughts.lastElementChild.textContent = message.reasoning;
  view.fault.textContent = message.fault;
  const isColoured = $("colours").checked && hasTrace(message);
  view.body.hidden = isColoured;
  view.tokens.hidden = !isColoured;
  if (isColoured) showTokens(message, view.tokens, view.progress);
  else renderMarkdown(view.body, message.content);
  showCalls(message, view);
  for (const each of view.actions.querySelectorAll("button")) each.hidden = isComing(message);
  view.compare.hidden ||= !isWhole(message);
  view.compare.textContent = message.stats.drafts ? "Compare without drafts" : "Compare with drafts";
  view.speed.textContent = [speedOf(message), endOf(message)].filter(Boolean).join(" · ");
  showComparison(message);
  if (isFollowed(message)) showTree();
}

export function showComparison(message) {
  const view = views.get(message);
  if (view) view.comparison.textContent = message.comparison;
}

export function speedOf({ stats }) {
  const parts = [];
  if (stats.tokens > 0) parts.push(`${stats.tokens} tokens`);
  if (stats.tokens > 1 && stats.seconds > 0) parts.push(`${((stats.tokens - 1) / stats.seconds).toFixed(1)} tokens/s`);
  if (stats.drafts && stats.steps > 0) parts.push(`accept length ${acceptLength(stats).toFixed(2)}`);
  if (!stats.drafts) parts.push("drafts off");
  return parts.join(" · ");
}

// How an answer ended where it is not complete. One without an end was cut with the page that showed it.
function endOf(message) {
  if (message.finish === "" && !message.fault && !isComing(message))
    return state.elsewhere.has(state.current.id) && state.current.messages.at(-1) === message ? "comes in another tab" : "stopped";
  return { stopped: "stopped", length: "cut at the limit of tokens", abort: "aborted" }[message.finish];
}

// ---- calls of tools

function showCalls(message, view) {
  const calls = JSON.stringify(message.calls);
  if (view.shownCalls !== calls) view.calls.replaceChildren(...message.calls.map(callOf));
  view.shownCalls = calls;
  const wantsResults = message.calls.length > 0 && !isComing(message) && state.current.messages.at(-1) === message;
  if (!wantsResults) view.results.replaceChildren();
  else if (view.results.childElementCount === 0) addResults(state.current, message, view.results);
}

function callOf({ name, args }) {
  let text = args;
  try {
    text = JSON.stringify(JSON.parse(args), null, 2);
  } catch {
    // still coming, or cut
  }
  return make("div", { className: "call" }, `Call of ${name}`, make("pre", { textContent: text, tabIndex: 0 }));
}

function addResults(conversation, message, place) {
  const results = message.calls.map(({ name }) =>
    make("textarea", { rows: 2, dir: "auto", placeholder: `Result of ${name}`, ariaLabel: `Result of ${name}` }));
  const send = () => deeds.sendResults(conversation, message, results.map((result) => result.value));
  place.append(...results, button("Send results", send));
}

// ---- what the buttons do

function openEdit(conversation, message, view) {
  const text = make("textarea", { value: message.content, rows: 4, dir: "auto", ariaLabel: "Message" });
  const before = [...view.actions.childNodes];
  const close = () => {
    view.body.hidden = false;
    view.actions.replaceChildren(...before);
  };
  view.body.hidden = true;
  view.actions.replaceChildren(
    text, button("Send again", () => deeds.edit(conversation, message, text.value)), button("Cancel", close));
  text.focus();
}

export function listenToMessages(what) {
  deeds = what;
  $("messages").onclick = ({ target }) => {
    if (target.classList.contains("copy-code")) copy(target.closest("figure").querySelector("code").textContent, target);
    const step = target.dataset?.step;
    if (step === undefined) return;
    for (const [message, view] of views) if (view.tokens?.contains(target)) goToStepOf(message, Number(step));
  };
  $("colours").onchange = () => {
    for (const message of views.keys()) showMessage(message);
    followLast(state.current);
    showTree();
  };
}
