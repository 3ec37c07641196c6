// What this browser keeps. Every save of a conversation counts up its version, and none is made over a version that this tab
// has not seen: so no tab overwrites what another has saved. The tabs tell each other what they have saved and deleted.

const NAME = "foretoken";
const PLACE = "conversations";

let database = null;
let last = Promise.resolve(); // of the reads and writes, which go one after the other
const channel = "BroadcastChannel" in window ? new BroadcastChannel(NAME) : null;

function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function completed(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onerror = transaction.onabort = () => reject(transaction.error ?? new Error("the browser has no room"));
  });
}

function inTurn(work) {
  const result = last.then(work);
  last = result.catch(() => {});
  return result;
}

export async function openStore() {
  const request = indexedDB.open(NAME, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(PLACE, { keyPath: "id" });
  database = await settled(request);
}

export async function readAll() {
  return database ? settled(database.transaction(PLACE).objectStore(PLACE).getAll()) : [];
}

// What is kept of a conversation, after the writes that this tab has begun; undefined: nothing.
export function read(id) {
  return inTurn(() => (database ? settled(database.transaction(PLACE).objectStore(PLACE).get(id)) : undefined));
}

// Keeps a conversation as it is when its turn comes. Where another tab has saved or deleted it meanwhile, nothing is
// written, and {found} tells what is there.
export function write(conversation, isRunning) {
  return inTurn(async () => {
    if (!database) return null;
    const transaction = database.transaction(PLACE, "readwrite");
    const done = completed(transaction);
    done.catch(() => {}); // it is awaited later, if nothing fails before
    const place = transaction.objectStore(PLACE);
    const found = await settled(place.get(conversation.id));
    if ((found?.version ?? 0) !== conversation.version) {
      await done;
      return { found };
    }
    const version = conversation.version + 1;
    place.put({ ...conversation, version });
    await done;
    conversation.version = version;
    announce({ kind: "saved", id: conversation.id, version, isRunning });
    return null;
  });
}

export function remove(id) {
  return inTurn(async () => {
    if (!database) return;
    await settled(database.transaction(PLACE, "readwrite").objectStore(PLACE).delete(id));
    announce({ kind: "deleted", id });
  });
}

// News for other tabs: {kind: "saved", id, version, isRunning}, {kind: "deleted" or "left", id}.
export function announce(news) {
  channel?.postMessage(news);
}

export function listenToTabs(onNews) {
  if (channel) channel.onmessage = ({ data }) => onNews(data);
}

// ---- small things: the theme, the settings

export function recall(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing still chats.
  }
}
