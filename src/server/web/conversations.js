// The conversations: their list, and that they are kept, together with what other tabs do to them.
import { adopt, emptyConversation, makeCopy, readConversation } from "./conversation.js";
import { $, button, make, tell } from "./elements.js";
import { showConversation } from "./messages.js";
import { state } from "./state.js";
import { announce, listenToTabs, openStore, read, readAll, recall, remember, remove, write } from "./store.js";
import { followLast, showTree } from "./tree.js";

const DELETE = "✕";
const DELETED = "This conversation was deleted in another tab.";
const BOTH_KEPT = "This conversation was changed in another tab, too. Both are kept, the one of this tab as a copy.";

let isLeaving = false; // no more of the answer comes here

export function toggleSidebar(isOpen) {
  $("sidebar").classList.toggle("shown", isOpen);
  $("menu").setAttribute("aria-expanded", isOpen);
}

// ---- the list

export function newConversation() {
  const conversation = emptyConversation(String(recall("system", "")));
  state.conversations.unshift(conversation);
  select(conversation);
}

export function select(conversation) {
  state.current = conversation;
  $("system").value = conversation.system;
  tell("note", "");
  showConversation();
  followLast(conversation);
  showTree();
  showList();
  toggleSidebar(false);
}

const rows = new Map(); // of the list: conversation -> its elements

// Rows of conversations that stay keep their elements: another tab that saves takes no question and no focus away.
export function showList() {
  const list = $("conversations");
  for (const [conversation, { item }] of rows) {
    if (state.conversations.includes(conversation)) continue;
    item.remove();
    rows.delete(conversation);
  }
  state.conversations.forEach((conversation, i) => {
    if (!rows.has(conversation)) rows.set(conversation, rowOf(conversation));
    const { item, open, deletion } = rows.get(conversation);
    open.textContent = open.title = conversation.title;
    open.setAttribute("aria-current", conversation === state.current);
    deletion.ariaLabel = `Delete ${conversation.title}`;
    if (list.children[i] !== item) list.insertBefore(item, list.children[i] ?? null);
  });
}

function rowOf(conversation) {
  const open = button("", () => select(conversation), { className: "open", dir: "auto" });
  const deletion = button(DELETE, () => {
    if (deletion.textContent === DELETE) {
      deletion.textContent = "Delete?";
      return;
    }
    takeOut(conversation);
    remove(conversation.id).catch(tellNotKept);
  });
  deletion.onblur = () => (deletion.textContent = DELETE);
  return { item: make("li", {}, open, deletion), open, deletion };
}

function takeOut(conversation) {
  if (state.running?.conversation === conversation) state.running.controller.abort();
  state.conversations = state.conversations.filter((each) => each !== conversation);
  if (state.conversations.length === 0) newConversation();
  else if (state.current === conversation) select(state.conversations[0]);
  else showList();
}

function takeOutDeleted(conversation) {
  if (!state.conversations.includes(conversation)) return;
  const wasShown = state.current === conversation;
  takeOut(conversation);
  if (wasShown) tell("note", DELETED, true);
}

// ---- what is kept

function tellNotKept(error) {
  tell("note", `Not kept: ${error.message}`, true);
}

// A conversation that was deleted meanwhile stays deleted.
export async function save(conversation) {
  if (!state.conversations.includes(conversation)) return;
  try {
    const id = conversation.id;
    const conflict = await write(conversation, !isLeaving && state.running?.conversation === conversation);
    if (!conflict || !state.conversations.includes(conversation)) return;
    if (conversation.id !== id) return; // it became a copy while this was waited for
    if (conflict.found) keepBoth(conversation, readConversation(conflict.found, true));
    else takeOutDeleted(conversation);
  } catch (error) {
    tellNotKept(error);
  }
}

function keepBoth(conversation, found) {
  makeCopy(conversation);
  if (found) state.conversations.splice(state.conversations.indexOf(conversation) + 1, 0, found);
  showList();
  tell("note", BOTH_KEPT, true);
  save(conversation);
}

// Takes over what another tab has saved: "same" where it is nothing, "changed", or "deleted".
export async function catchUp(conversation) {
  const found = await read(conversation.id).catch(() => undefined);
  if ((found?.version ?? 0) === conversation.version) return "same";
  if (!found) {
    takeOutDeleted(conversation);
    return "deleted";
  }
  takeOver(conversation, found);
  return "changed";
}

function takeOver(conversation, found) {
  const given = readConversation(found, true);
  if (!given) return;
  adopt(conversation, given);
  showList();
  if (state.current !== conversation) return;
  if (document.activeElement !== $("system")) $("system").value = conversation.system;
  showConversation();
}

// The page ends in the middle of an answer.
export function leave(conversation) {
  isLeaving = true;
  save(conversation);
  announce({ kind: "left", id: conversation.id });
}

// ---- other tabs

async function hear({ kind, id, version, isRunning }) {
  const find = () => state.conversations.find((each) => each.id === id);
  if (kind === "deleted") {
    if (find()) takeOutDeleted(find());
    return;
  }
  if (kind === "left") {
    state.elsewhere.delete(id);
    if (state.current.id === id) showConversation();
    return;
  }
  state.elsewhere[isRunning ? "add" : "delete"](id);
  if (find()?.version >= version) return;
  const found = await read(id).catch(() => undefined);
  const mine = find();
  if (!found || mine?.version >= found.version) return;
  if (state.running && state.running.conversation === mine) return; // its next save finds out
  if (mine) {
    takeOver(mine, found);
    return;
  }
  const given = readConversation(found, true);
  if (given) state.conversations.unshift(given);
  showList();
}

export async function openConversations() {
  try {
    await openStore();
    const kept = (await readAll()).map((each) => readConversation(each, true));
    state.conversations = kept.filter((each) => each !== null).sort((a, b) => b.changed - a.changed);
  } catch {
    tell("import-note", "This browser keeps nothing: conversations end with the page.");
  }
  if (state.conversations.length > 0) select(state.conversations[0]);
  else newConversation();
  listenToTabs(hear);
  addEventListener("pageshow", () => (isLeaving = false));
  $("new").onclick = () => {
    newConversation();
    $("prompt").focus();
  };
  $("system").oninput = () => {
    state.current.system = $("system").value;
  };
  $("system").onchange = () => {
    state.current.system = $("system").value;
    remember("system", $("system").value);
    save(state.current);
  };
}
