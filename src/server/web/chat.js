// The chat: asking for answers, one at a time, asking again, and comparing.
import { greet, Refused } from "./connection.js";
import { emptyAnswer } from "./conversation.js";
import { catchUp, leave, save, showList } from "./conversations.js";
import { $, tell } from "./elements.js";
import { listenToMessages, showComparison, showConversation, showSoon, speedOf } from "./messages.js";
import { bodyOf, stream } from "./request.js";
import { readSettings } from "./settings.js";
import { state } from "./state.js";
import { follow } from "./tree.js";

const SAVE_MS = 1000; // between two saves of an answer that comes
const LOST = "The connection to the server was lost.";
const CHANGED = "This conversation was changed in another tab, and is now shown as it is there.";

function run(conversation) {
  state.running = { controller: new AbortController(), conversation, message: null };
  showRunning();
  return state.running;
}

function endRun() {
  state.running = null;
  showRunning();
  if (!state.model) greet(); // a server that was away when the page came
}

function showRunning() {
  const isRunning = state.running !== null;
  const hadFocus = document.activeElement === $("send") || document.activeElement === $("stop");
  $("send").hidden = isRunning;
  $("stop").hidden = !isRunning;
  if (hadFocus) (isRunning ? $("stop") : $("prompt")).focus();
}

// ---- asking

// Nothing changes where the settings cannot be sent or the conversation is gone. `change` makes the messages ready; where
// `isCut`, by taking some away, which it may not do to what another tab has added.
async function ask(conversation, isCut, change) {
  if (state.running) return;
  const settings = readSettings();
  if (!settings) return;
  tell("note", "");
  const running = run(conversation);
  try {
    const found = await catchUp(conversation);
    if (found === "changed" && isCut) tell("note", CHANGED, true);
    else if (found !== "deleted") {
      change();
      await answer(running, { model: state.model, system: conversation.system, ...settings });
    }
  } finally {
    endRun();
  }
  save(conversation);
  if (state.current === conversation) showConversation();
}

async function answer(running, sent) {
  const { controller, conversation } = running;
  const message = emptyAnswer(sent, $("drafts").checked);
  const body = bodyOf(conversation.messages, sent, message.stats.drafts, $("colours").checked);
  conversation.messages.push(message);
  conversation.changed = Date.now();
  running.message = message;
  if (body.speculative.trace) follow(message);
  save(conversation);
  showList();
  if (state.current === conversation) showConversation();
  let isSaved = true;
  const saving = setInterval(() => {
    if (!isSaved) save(conversation);
    isSaved = true;
  }, SAVE_MS);
  try {
    await stream(body, message, controller.signal, () => {
      isSaved = false;
      showSoon(message);
    });
  } catch (error) {
    if (controller.signal.aborted) message.finish = "stopped";
    else message.fault = error instanceof Refused ? error.message : LOST;
  }
  clearInterval(saving);
}

function send() {
  const conversation = state.current, text = $("prompt").value;
  if (text.trim() === "") return;
  ask(conversation, false, () => {
    if (conversation.messages.length === 0) conversation.title = text.trim().replace(/\s+/g, " ").slice(0, 40);
    conversation.messages.push({ role: "user", content: text });
    if ($("prompt").value === text) $("prompt").value = "";
  });
}

function again(conversation, message) {
  ask(conversation, true, () => {
    conversation.messages.length = conversation.messages.indexOf(message);
  });
}

function edit(conversation, message, text) {
  if (text.trim() === "") return;
  ask(conversation, true, () => {
    conversation.messages.length = conversation.messages.indexOf(message);
    conversation.messages.push({ role: "user", content: text });
  });
}

function sendResults(conversation, message, results) {
  ask(conversation, true, () => {
    const told = message.calls.map(({ id }, i) => ({ role: "tool", content: results[i], tool_call_id: id }));
    conversation.messages.push(...told);
  });
}

// ---- comparing

// The same request the other way round: with drafts if it had none. The answer must be the same.
async function compare(conversation, message) {
  if (state.running) return;
  const withDrafts = !message.stats.drafts;
  const other = emptyAnswer(message.sent, withDrafts);
  const line = (text) => {
    message.comparison = `${withDrafts ? "with drafts" : "without drafts"}: ${text}`;
    showComparison(message);
  };
  const { model } = message.sent;
  if (model && state.model && model !== state.model) return line(`not possible, the answer is of another model, ${model}`);
  const { controller } = run(conversation);
  line("…");
  const before = conversation.messages.slice(0, conversation.messages.indexOf(message));
  try {
    const body = bodyOf(before, message.sent, withDrafts, false);
    await stream(body, other, controller.signal, () => line(`${speedOf(other)} …`));
    line(`${speedOf(other)} · ${differenceOf(message, other)}`);
  } catch (error) {
    line(controller.signal.aborted ? "stopped" : error instanceof Refused ? error.message : LOST);
  }
  endRun();
  save(conversation);
}

function differenceOf(one, other) {
  // Names of calls are drawn anew each time.
  const callsOf = ({ calls }) => JSON.stringify(calls.map(({ name, args }) => [name, args]));
  if (one.content !== other.content || one.reasoning !== other.reasoning) return "another text";
  if (callsOf(one) !== callsOf(other)) return "other calls of tools";
  return one.calls.length > 0 ? "the same text and calls" : "the same text";
}

// ---- hands

export function listenToChat() {
  listenToMessages({ again, edit, compare, sendResults });
  $("composer").onsubmit = (event) => {
    event.preventDefault();
    send();
  };
  $("prompt").onkeydown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  $("stop").onclick = () => state.running?.controller.abort();
  // What has come of an answer is kept also where the page ends before the next save.
  document.addEventListener("visibilitychange", () => document.hidden && state.running && save(state.running.conversation));
  addEventListener("pagehide", () => state.running && leave(state.running.conversation));
}
