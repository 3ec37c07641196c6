// A reader of report.json, which `foretoken tune` writes: the best flags for each number of requests at once, all settings
// against plain decoding, and what was run for real. It shows what a file says and sends nothing.
import { button, make, row } from "./elements.js";

// Throws Error where it is no such report. Numbers that a report lacks (it had no costs) are left out.
export function readReport(text) {
  let report;
  try {
    report = JSON.parse(text);
  } catch {
    throw new Error("it is no JSON");
  }
  if (!Array.isArray(report?.settings) || !Array.isArray(report.best) || !Array.isArray(report.checks))
    throw new Error("it is no report of foretoken tune");
  if (report.version !== 1) throw new Error(`it is of version ${report.version}; this page reads 1`);
  for (const { name, flags, results } of report.settings)
    if (typeof name !== "string" || !Array.isArray(flags) || !Array.isArray(results)) throw new Error("a setting in it is damaged");
  return report;
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
const times = (value) => (Number.isFinite(value) ? `${value.toFixed(2)} ×` : "");

function table(names, rows) {
  return make("div", { className: "table" }, make("table", {},
    make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { textContent: name })))), make("tbody", {}, ...rows)));
}

function summaryOf({ model, draft, algorithm, backend, temperature, texts, tokens }) {
  const drafted = draft ? `${algorithm} from ${draft}` : algorithm;
  return make("p", { textContent: `${model}, ${drafted}; ${backend}; ${tokens} tokens of ${texts} texts at temperature ${temperature}.` });
}

function bestOf({ best }) {
  if (best.length === 0) return make("p", { textContent: "It holds no costs, so that no setting is the fastest." });
  return table(["requests at once", "best setting", "tokens/s", "against plain", "flags"], best.map((one) => row([
    String(one.batch_size), String(one.setting), number(one.tokens_per_second, 1), times(one.speedup), flagsOf(String(one.flags))])));
}

function flagsOf(flags) {
  if (flags === "") return "";
  const copy = button("Copy", async () => {
    await navigator.clipboard?.writeText(flags).catch(() => {});
    copy.textContent = "Copied";
  });
  return make("span", {}, make("code", { textContent: flags }), " ", ...(navigator.clipboard ? [copy] : []));
}

// The fastest first; without costs the longest accepted.
function settingsOf(report, size) {
  const rows = report.settings.map(({ name, flags, results }) => ({ name, flags, ...results.find((one) => one.batch_size === size) }));
  rows.sort((a, b) => (b.tokens_per_second ?? 0) - (a.tokens_per_second ?? 0) || b.accept_length - a.accept_length);
  const most = Math.max(1, ...rows.map(({ speedup }) => speedup ?? 0));
  return table(["setting", "against plain", "", "tokens/s", "accept length", "rows a step"], rows.map((one) => {
    const bar = make("meter", { min: 0, max: most, value: one.speedup ?? 0, ariaLabel: `${one.name} against plain` });
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
