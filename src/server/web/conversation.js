// The shape of conversations and messages, and how they are read from where anybody may have written them: only what the
// page itself would have written is taken over.

const SAMPLING = ["temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_tokens", "seed"];
const LONGEST_TITLE = 100;

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const textOf = (value, otherwise = "") => (typeof value === "string" ? value : otherwise);
const numberOf = (value, otherwise = 0) => (Number.isFinite(value) ? value : otherwise);
const listOf = (value) => (Array.isArray(value) ? value : []);

function newId() {
  return crypto.randomUUID?.() ?? String(Math.random()).slice(2);
}

export function emptyConversation(system) {
  return { id: newId(), version: 0, title: "New conversation", changed: Date.now(), system, messages: [] };
}

// From now on another conversation than the one that is kept under its name.
export function makeCopy(conversation) {
  Object.assign(conversation, { id: newId(), version: 0, title: `${conversation.title} (copy)`.slice(0, LONGEST_TITLE) });
}

// `sent`: with what it is asked for, besides the messages before it: {model, system, tools, sampling}. `finish` stays empty
// until the answer is complete or stopped.
export function emptyAnswer(sent, withDrafts) {
  return {
    role: "assistant", content: "", reasoning: "", calls: [], finish: "", fault: "", comparison: "", sent,
    stats: { tokens: 0, seconds: 0, steps: 0, accepted: 0, drafts: withDrafts },
  };
}

export function isWhole(message) {
  const isSaid = message.content !== "" || message.calls.length > 0;
  return isSaid && !message.fault && !["", "stopped", "abort"].includes(message.finish);
}

// Tokens that a step brings on average; the step that ends the prompt is none of them.
export function acceptLength({ steps, accepted }) {
  return (steps + accepted) / steps;
}

// Null: it is damaged. With `isOwn`, from this browser's store, it keeps its name there.
export function readConversation(given, isOwn) {
  if (!isObject(given) || !Array.isArray(given.messages)) return null;
  const conversation = emptyConversation(textOf(given.system));
  if (isOwn) conversation.id = given.id;
  if (isOwn) conversation.version = numberOf(given.version);
  conversation.title = textOf(given.title, "Imported").slice(0, LONGEST_TITLE);
  conversation.changed = numberOf(given.changed, conversation.changed);
  conversation.messages = given.messages.map((message) => readMessage(message, conversation.system));
  return conversation.messages.includes(null) ? null : conversation;
}

function readMessage(given, system) {
  if (!isObject(given) || typeof given.content !== "string") return null;
  if (given.role === "user") return { role: "user", content: given.content };
  if (given.role === "tool") return { role: "tool", content: given.content, tool_call_id: textOf(given.tool_call_id) };
  if (given.role !== "assistant") return null;
  const message = emptyAnswer(readSent(given, system), given.stats?.drafts !== false);
  for (const name of ["content", "reasoning", "fault", "comparison"]) message[name] = textOf(given[name]);
  message.finish = textOf(given.finish, "stop");
  for (const name of ["tokens", "seconds", "steps", "accepted"]) message.stats[name] = numberOf(given.stats?.[name]);
  message.calls = listOf(given.calls).map((one) => ({ id: textOf(one?.id), name: textOf(one?.name), args: textOf(one?.args) }));
  return message;
}

// Earlier versions of the page kept tools and sampling together, as `fields`, and the conversation's system prompt alone.
function readSent({ sent, fields }, system) {
  const from = isObject(sent) ? sent : { system, tools: fields?.tools, sampling: fields };
  const sampling = {};
  for (const name of SAMPLING) if (Number.isFinite(from.sampling?.[name])) sampling[name] = from.sampling[name];
  const stops = listOf(from.sampling?.stop).filter((stop) => typeof stop === "string");
  if (stops.length > 0) sampling.stop = stops;
  return { model: textOf(from.model), system: textOf(from.system), tools: listOf(from.tools).filter(isObject), sampling };
}

// Brings a conversation up to date with one that was read: messages that are the same stay the same objects.
export function adopt(mine, read) {
  const isSame = (one, other) => one !== undefined && JSON.stringify(one) === JSON.stringify(other);
  const messages = read.messages.map((message, i) => (isSame(mine.messages[i], message) ? mine.messages[i] : message));
  Object.assign(mine, read, { messages });
}
