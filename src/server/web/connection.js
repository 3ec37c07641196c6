// Calls of the server, with a key where it wants one.
import { $ } from "./elements.js";
import { state } from "./state.js";

const KEY = "foretoken-key"; // in sessionStorage: until the tab is closed
const AGAIN_MS = 2000; // while the model is being loaded
const UNSENDABLE = "This key cannot be sent: it holds characters other than Latin letters, digits and common signs.";

// What the server says, or a reason not to ask it, in words for the user.
export class Refused extends Error {}

// Whether a header of a request can carry it; fetch() throws else.
const isSendable = (key) => /^[\x20-\x7e\xa0-\xff]*$/.test(key);

let keyQuestion = null; // while it is asked, for all who want it

function askKey(note) {
  keyQuestion ??= new Promise((resolve) => {
    const dialog = $("key-dialog");
    $("key-note").textContent = note;
    $("key").value = "";
    $("key-form").onsubmit = (event) => {
      if (isSendable($("key").value)) return;
      event.preventDefault();
      $("key-note").textContent = UNSENDABLE;
      $("key").select();
    };
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

export async function call(path, options = {}) {
  for (let note = ""; ;) {
    const key = sessionStorage.getItem(KEY) ?? "";
    if (isSendable(key)) {
      const headers = { ...options.headers };
      if (key) headers.Authorization = `Bearer ${key}`;
      const response = await fetch(path, { ...options, headers, cache: "no-store" });
      if (response.status !== 401) return response;
      if (key !== (sessionStorage.getItem(KEY) ?? "")) continue; // another one was given meanwhile
      note = key ? "The server does not take this key." : "";
    } else {
      note = UNSENDABLE;
    }
    if (!(await askKey(note))) throw new Refused("The server wants a key.");
  }
}

export async function callJson(path) {
  const response = await call(path);
  if (!response.ok) throw new Refused(await faultOf(response));
  return response.json();
}

export async function faultOf(response) {
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
export async function* eventsOf(response) {
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

function showModel(text, isFault) {
  $("model").textContent = $("model").title = text;
  $("model").classList.toggle("warn", isFault);
}

// Asks which model there is, again for as long as it is being loaded.
export async function greet() {
  try {
    const response = await call("/v1/models");
    if (response.status === 503) setTimeout(greet, AGAIN_MS);
    if (!response.ok) throw new Refused(await faultOf(response));
    state.model = (await response.json()).data[0].id;
    showModel(state.model, false);
    document.title = `foretoken · ${state.model}`;
  } catch (error) {
    showModel(error instanceof Refused ? error.message : "The server cannot be reached.", true);
  }
}
