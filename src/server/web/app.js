// The page: a chat with this server, the draft trees of its answers, and a view of what it does.
// Conversations are kept in this browser, an API key only until the tab is closed. What a model
// writes becomes text and elements made here, never HTML (see markdown.js).
import { listenToChat } from "./chat.js";
import { greet } from "./connection.js";
import { openConversations, toggleSidebar } from "./conversations.js";
import { $ } from "./elements.js";
import { listenToServerView, poll } from "./server_view.js";
import { listenToSettings } from "./settings.js";
import { state } from "./state.js";
import { recall, remember } from "./store.js";
import { listenToTransfer } from "./transfer.js";
import { listenToTree } from "./tree.js";

// What belongs to the chat alone leaves the header with it.
function showView(name) {
  document.body.dataset.view = name;
  for (const each of ["chat", "server"]) {
    $(`${each}-view`).hidden = each !== name;
    $(`show-${each}`).setAttribute("aria-pressed", each === name);
  }
  if (name === "server") poll();
}

function switchTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  remember("theme", root.dataset.theme);
}

function listenToFrame() {
  $("show-chat").onclick = () => showView("chat");
  $("show-server").onclick = () => showView("server");
  $("menu").onclick = () => toggleSidebar(!$("sidebar").classList.contains("shown"));
  $("theme").onclick = switchTheme;
  $("key-cancel").onclick = () => $("key-dialog").close("");
  document.onkeydown = (event) => {
    if (event.key !== "Escape" || $("key-dialog").open) return;
    if (state.running) state.running.controller.abort();
    else if (document.body.dataset.view === "server") return;
    else if (!$("settings").hidden) $("close-settings").click();
    else toggleSidebar(false);
  };
}

async function start() {
  const theme = recall("theme", "");
  if (theme) document.documentElement.dataset.theme = theme;
  showView("chat");
  listenToFrame();
  listenToSettings();
  listenToTree();
  listenToServerView();
  listenToTransfer();
  listenToChat();
  await openConversations();
  document.documentElement.dataset.ready = "true";
  await greet();
}

start();
