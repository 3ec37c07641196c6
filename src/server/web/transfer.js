// Conversations to files and back.
import { readConversation } from "./conversation.js";
import { save, select } from "./conversations.js";
import { $, make, tell } from "./elements.js";
import { state } from "./state.js";

const FORMAT = "foretoken-conversations";
const MOST_BYTES = 64 << 20;

function exportAll() {
  const text = JSON.stringify({ format: FORMAT, version: 1, conversations: state.conversations }, null, 1);
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  make("a", { href: address, download: `${FORMAT}.json` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function readFile(text) {
  let content;
  try {
    content = JSON.parse(text);
  } catch {
    throw new Error("it is no JSON");
  }
  if (!Array.isArray(content?.conversations)) throw new Error("it holds no conversations");
  const read = content.conversations.map((given) => readConversation(given, false));
  if (read.includes(null)) throw new Error("a conversation in it is damaged");
  return read;
}

async function importFile(file) {
  try {
    if (file.size > MOST_BYTES) throw new Error("it is larger than 64 MiB");
    const read = readFile(await file.text());
    state.conversations.unshift(...read);
    read.forEach((each) => save(each));
    if (read.length > 0) select(read[0]);
    tell("import-note", read.length === 1 ? "1 conversation was added." : `${read.length} conversations were added.`);
  } catch (error) {
    tell("import-note", `This file cannot be read: ${error.message}.`, true);
  }
}

export function listenToTransfer() {
  $("export").onclick = exportAll;
  $("import").onclick = () => $("import-file").click();
  $("import-file").onchange = async (event) => {
    for (const file of event.target.files) await importFile(file);
    event.target.value = "";
  };
}
