// A reader of report.json, which `foretoken tune` writes: the best flags for each number of requests at once, all settings
// against plain decoding, and what was run for real. It shows what a file says and sends nothing.
import { button, copy, make, row } from "./elements.js";

// What a report and its parts must hold. Numbers that it may lack (it had no costs) are left out where they are shown.
const REPORT = { texts: ["model", "draft", "algorithm", "backend"], numbers: ["temperature", "texts", "tokens"] };
const BEST = { texts: ["setting", "flags"], numbers: ["batch_size"] };
const SETTING = { texts: ["name"], numbers: [] };
const RESULT = { texts: [], numbers: ["batch_size", "steps", "rows", "accept_length"] };
const CHECK = { texts: ["setting"], numbers: ["batch_size"] };

// Throws Error where it is no such report.
export function readReport(text) {
  let report;
  try {
    report = JSON.parse(text);
  } catch {
    throw new Error("it is no JSON");
  }
  const isReport = [report?.settings, report?.best, report?.checks].every(Array.isArray) && Number.isInteger(report.version);
  if (!isReport) throw new Error("it is no report of foretoken tune");
  if (report.version !== 1) throw new Error(`it is of version ${report.version}; this page reads 1`);
  expect(report, REPORT, "it is damaged");
  for (const one of report.best) expect(one, BEST, "a best setting in it is damaged");
  for (const one of report.checks) expect(one, CHECK, "a check in it is damaged");
  for (const one of report.settings) {
    expect(one, SETTING, "a setting in it is damaged");
    if (!Array.isArray(one.results) || !Array.isArray(one.flags)) throw new Error("a setting in it lacks its results or flags");
    for (const result of one.results) expect(result, RESULT, "a result in it is damaged");
  }
  return report;
}

function expect(part, { texts, numbers }, fault) {
  if (typeof part !== "object" || part === null) throw new Error(fault);
  for (const name of texts) if (typeof part[name] !== "string") throw new Error(`${fault}: ${name} is no text`);
  for (const name of numbers) if (!Number.isFinite(part[name])) throw new Error(`${fault}: ${name} is no number`);
}

export function showReport(report, place) {
  const sizes = [...new Set(report.settings.flatMap(({ results }) => results.map((result) => result.batch_size)))];
  const settings = make("div");
  const choice = make("select", { ariaLabel: "Requests at once" }, ...sizes.map((size) => make("option", { textContent: size })));
  choice.onchange = () => settings.replaceChildren(settingsOf(report, Number(choice.value)));
  if (sizes.length > 0) choice.onchange();
  place.replaceChildren(summaryOf(report), bestOf(report), make("label", {}, "Requests at once ", choice), settings, checksOf(report));
}

const number = (value, digits) => (Number.isFinite(value) ? value.toFixed(digits) : "");
const finite = (value) => (Number.isFinite(value) ? value : 0);
const times = (value) => (Number.isFinite(value) ? `${value.toFixed(2)} ×` : "");

function table(names, rows) {
  return make("div", { className: "table" }, make("table", {},
    make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { textContent: name })))), make("tbody", {}, ...rows)));
}

function summaryOf({ model, draft, algorithm, backend, temperature, texts, tokens }) {
  const drafted = draft ? `${algorithm} from ${draft}` : algorithm || "drafts of texts";
  return make("p", { textContent: `${model}, ${drafted}; ${backend}; ${tokens} tokens of ${texts} texts at temperature ${temperature}.` });
}

function bestOf({ best }) {
  if (best.length === 0) return make("p", { textContent: "It holds no costs, so that no setting is the fastest." });
  return table(["requests at once", "best setting", "tokens/s", "against plain", "flags"], best.map((one) => row([
    String(one.batch_size), one.setting, number(one.tokens_per_second, 1), times(one.speedup), flagsOf(one.flags)])));
}

function flagsOf(flags) {
  if (flags === "") return "";
  return make("span", {}, make("code", { textContent: flags }), " ", button("Copy", (event) => copy(flags, event.target)));
}

// The fastest first; without costs the longest accepted.
function settingsOf(report, size) {
  const rows = report.settings.map(({ name, flags, results }) => ({ name, flags, ...results.find((one) => one.batch_size === size) }));
  rows.sort((a, b) => finite(b.tokens_per_second) - finite(a.tokens_per_second) || b.accept_length - a.accept_length);
  const most = Math.max(1, ...rows.map(({ speedup }) => finite(speedup)));
  return table(["setting", "against plain", "", "tokens/s", "accept length", "rows a step"], rows.map((one) => {
    const bar = make("meter", { min: 0, max: most, value: finite(one.speedup), ariaLabel: `${one.name} against plain` });
    const name = make("span", { textContent: one.name, title: one.flags.join(" ") });
    return row([name, times(one.speedup), bar, number(one.tokens_per_second, 1), number(one.accept_length, 2), number(one.rows / one.steps, 1)]);
  }));
}

function checksOf({ checks }) {
  if (checks.length === 0) return "";
  return make("div", {}, make("h3", { textContent: "Run for real" }),
    table(["setting", "requests at once", "accept length", "said", "tokens/s", "said", "against plain", "said"], checks.map((one) => row([
      one.setting, String(one.batch_size), number(one.accept_length, 2), number(one.predicted_accept_length, 2),
      number(one.tokens_per_second, 1), number(one.predicted_tokens_per_second, 1), times(one.speedup), times(one.predicted_speedup)]))));
}
