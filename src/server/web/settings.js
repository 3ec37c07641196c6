// The panel of settings: what an answer is asked for with.
import { $, tell } from "./elements.js";
import { recall, remember } from "./store.js";

const KEPT_TEXTS = ["stops", "tools"];
const inputs = () => [...document.querySelectorAll("#settings [data-field]")];

function readTools() {
  const text = $("tools").value.trim();
  if (text === "") return [];
  try {
    const tools = JSON.parse(text);
    return Array.isArray(tools) ? tools : null;
  } catch {
    return null;
  }
}

function refuse(place, note) {
  showSettings(true);
  tell("settings-note", note, true);
  place.focus();
  return null;
}

// {tools, sampling}, or null where they cannot be sent: then the panel is open and says why. What the server may find wrong
// is left to it.
export function readSettings() {
  tell("settings-note", "");
  const sampling = {};
  for (const input of inputs()) {
    if (input.validity.badInput) return refuse(input, `${input.dataset.field} is no number.`);
    if (input.value !== "") sampling[input.dataset.field] = Number(input.value);
  }
  const stops = $("stops").value.split("\n").filter((line) => line !== "");
  if (stops.length > 0) sampling.stop = stops;
  sampling.seed ??= crypto.getRandomValues(new Uint32Array(1))[0] >>> 1;
  const tools = readTools();
  return tools ? { tools, sampling } : refuse($("tools"), "The tools are no JSON list.");
}

export function showSettings(isOpen) {
  $("settings").hidden = !isOpen;
  $("open-settings").setAttribute("aria-expanded", isOpen);
}

export function listenToSettings() {
  $("open-settings").onclick = () => showSettings($("settings").hidden);
  $("close-settings").onclick = () => {
    showSettings(false);
    $("open-settings").focus();
  };
  const kept = recall("settings", {});
  for (const input of inputs()) input.value = kept[input.dataset.field] ?? "";
  for (const id of KEPT_TEXTS) $(id).value = kept[id] ?? "";
  $("settings").addEventListener("change", () => {
    const now = {};
    for (const input of inputs()) now[input.dataset.field] = input.value;
    for (const id of KEPT_TEXTS) now[id] = $(id).value;
    remember("settings", now);
  });
}
