// Who drafted what: the tokens of an answer in colours, and the draft tree of each step.
import { acceptLength } from "./conversation.js";
import { $, drawn, make } from "./elements.js";
import { state } from "./state.js";
import { hasTrace, stepsOf, traceOf } from "./trace.js";

const COLOURS = 6;
const drafterNames = []; // in the order of their colours
const tokensOf = new WeakMap(); // message -> the element with its tokens
const shown = {
  message: null, // the one whose tree is shown
  wanted: -1, // the step that was asked for; -1: the newest
  step: 0, // the one that is shown
};

function colourOf(drafters) {
  if (drafters.length === 0) return "";
  const name = drafters[0];
  if (!drafterNames.includes(name)) drafterNames.push(name);
  return `d${drafterNames.indexOf(name) % COLOURS}`;
}

// Adds the tokens that came since the last call; one that ends in the middle of a character shows it with the one that
// completes it. `progress` is kept by the caller for each `place`.
export function showTokens(message, place, progress) {
  const steps = stepsOf(message);
  tokensOf.set(message, place);
  progress.decoder ??= new TextDecoder();
  progress.steps ??= 0;
  const encoder = new TextEncoder();
  for (; progress.steps < steps.length; ++progress.steps) {
    const number = progress.steps, step = steps[number];
    for (const token of step.output) {
      const bytes = token.bytes ? Uint8Array.from(token.bytes) : encoder.encode(token.text);
      const drafters = token.draft === null ? [] : step.drafts[token.draft].drafters;
      const text = token.special ? "" : progress.decoder.decode(bytes, { stream: true });
      const span = make("span", { textContent: text, className: colourOf(drafters) });
      span.title = token.draft === null ? "by the model itself" : `drafted by ${drafters.join(", ") || "unknown"}`;
      span.dataset.step = number;
      place.append(span);
    }
  }
}

// The tree of this message from now on; null: of none.
export function follow(message) {
  shown.message = message;
  shown.wanted = -1;
}

// The last answer of a conversation that has trees.
export function followLast(conversation) {
  if (!shown.message || !conversation.messages.includes(shown.message))
    follow(conversation.messages.findLast(hasTrace) ?? null);
}

export const isFollowed = (message) => shown.message === message;

export function goToStepOf(message, step) {
  shown.message = message;
  goToStep(step);
}

function goToStep(number) {
  shown.wanted = Math.max(0, Math.min(stepsOf(shown.message).length - 1, number));
  showTree();
}

export function showTree() {
  const message = shown.message;
  const steps = message ? stepsOf(message) : [];
  $("trace").hidden = !$("colours").checked || steps.length === 0;
  if ($("trace").hidden) return;
  // The newest of an answer that comes; of one that is there, the last that had drafts.
  const last = state.running?.message === message ? -1 : steps.findLastIndex((step) => step.drafts.length > 0);
  const newest = last < 0 ? steps.length - 1 : last;
  const number = shown.wanted < 0 ? newest : Math.min(shown.wanted, steps.length - 1);
  const step = steps[number];
  shown.step = number;
  const accepted = step.drafts.filter((draft) => draft.accepted).length;
  $("step-name").textContent = `step ${number + 1} of ${steps.length}: ${step.drafts.length} proposed, ${accepted} accepted`;
  $("step-back").disabled = number === 0;
  $("step-on").disabled = number === steps.length - 1;
  const before = number > 0 ? steps[number - 1].output.at(-1).text : "";
  $("tree").replaceChildren(treeOf(step, before));
  showLegend(message);
  const tokens = tokensOf.get(message);
  if (!tokens) return;
  for (const old of tokens.querySelectorAll(".of-step")) old.classList.remove("of-step");
  if (shown.wanted >= 0)
    for (const span of tokens.querySelectorAll(`[data-step="${number}"]`)) span.classList.add("of-step");
}

function showLegend(message) {
  const { counts, decoded } = traceOf(message);
  const names = [...counts].map(([name, { proposed, accepted }]) =>
    make("span", { className: colourOf([name]), textContent: `${name} ${accepted} of ${proposed}` }));
  // The server's own sum comes with the end of the answer; until then it is counted here.
  const length = message.stats.steps > 0 ? acceptLength(message.stats) : decoded.tokens / decoded.steps;
  if (Number.isFinite(length)) {
    const title = "Tokens that a step brings on average; the step that ends the prompt is none of them.";
    names.push(make("span", { textContent: `accept length ${length.toFixed(2)}`, title }));
  }
  $("legend").replaceChildren(...names);
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

export function listenToTree() {
  $("step-back").onclick = () => goToStep(shown.step - 1);
  $("step-on").onclick = () => goToStep(shown.step + 1);
}
