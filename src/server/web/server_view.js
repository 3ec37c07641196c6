// What the server does: its load, its drafters, its flags, and a reader of reports.
import { callJson, Refused } from "./connection.js";
import { $, drawn, make, row, tell } from "./elements.js";
import { readReport, showReport } from "./tune_report.js";

const POLL_MS = 2000; // between two looks at what the server does
const KEPT_POINTS = 60; // of its throughput
const MOST_REPORT_BYTES = 64 << 20;

let pollTimer = 0;
let throughput = [];
let flags = null; // as the server last told them

function gauge(name, value, more) {
  return make("div", { className: "gauge" }, make("span", { className: "faint", textContent: name }),
    make("b", { textContent: value }), ...(more ? [more] : []));
}

function sparkline(points) {
  const most = Math.max(1, ...points);
  const line = points.map((point, i) => `${(i * 100) / (KEPT_POINTS - 1)},${30 - (28 * point) / most}`).join(" ");
  return drawn("svg", { viewBox: "0 0 100 32", preserveAspectRatio: "none", "aria-hidden": "true" }, drawn("polyline", { points: line }));
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const gib = (amount) => `${amount.toFixed(2)} GiB`;

function showLoad(load) {
  throughput = [...throughput, load.gen_throughput].slice(-KEPT_POINTS);
  const gauges = [
    gauge("in the batch", `${load.num_running_reqs} of ${load.max_running_requests}`),
    gauge("in the queue", String(load.num_waiting_reqs)),
    gauge("tokens/s", load.gen_throughput.toFixed(1), sparkline(throughput)),
    gauge(`KV cache in use, of ${load.max_total_num_tokens} tokens`, percent(load.token_usage)),
    gauge("prompt tokens from the cache", percent(load.cache_hit_rate)),
    gauge("memory of weights", gib(load.memory.weight_gb)),
    gauge("memory of the KV cache", gib(load.memory.kv_cache_gb)),
  ];
  if (load.speculative)
    gauges.push(gauge("accept length", load.speculative.accept_length.toFixed(2)),
      gauge("accepted of proposed drafts", percent(load.speculative.accept_rate)));
  $("gauges").replaceChildren(...gauges);
}

function showDrafters(drafts) {
  const rows = Object.entries(drafts?.drafters ?? {}).map(([name, { proposed, accepted }]) =>
    row([name, proposed, accepted, proposed ? percent(accepted / proposed) : "",
      drafts.verify_steps ? (accepted / drafts.verify_steps).toFixed(2) : ""]));
  if (rows.length === 0) rows.push(make("tr", {}, make("td", { colSpan: 5, textContent: "Nothing was drafted so far." })));
  $("drafters").tBodies[0].replaceChildren(...rows);
}

function showFlags(info) {
  const wanted = $("flag-filter").value.trim().toLowerCase();
  const rows = Object.entries(info).filter(([name, value]) =>
    name !== "internal_states" && name !== "startup_time" && `${name} ${JSON.stringify(value)}`.toLowerCase().includes(wanted));
  $("flags").tBodies[0].replaceChildren(...rows.map(([name, value]) =>
    row([name, value === null ? "" : JSON.stringify(value)])));
}

async function openReport(file) {
  try {
    if (file.size > MOST_REPORT_BYTES) throw new Error("it is larger than 64 MiB");
    showReport(readReport(await file.text()), $("report"));
    tell("report-note", "");
  } catch (error) {
    $("report").replaceChildren();
    tell("report-note", `${file.name} cannot be read: ${error.message}.`, true);
  }
}

export async function poll() {
  clearTimeout(pollTimer);
  if ($("server-view").hidden) return;
  try {
    const loads = await callJson("/v1/loads?include=all");
    const info = await callJson("/server_info");
    flags = info;
    showLoad(loads.loads[0]);
    showDrafters(info.internal_states[0].drafts);
    showFlags(info);
    tell("server-note", "");
  } catch (error) {
    tell("server-note", error instanceof Refused ? error.message : "The server cannot be reached.", true);
    if (error instanceof Refused) return; // asking again would open the dialog again
  }
  pollTimer = setTimeout(poll, POLL_MS);
}

export function listenToServerView() {
  $("open-report").onclick = () => $("report-file").click();
  $("report-file").onchange = async (event) => {
    for (const file of event.target.files) await openReport(file);
    event.target.value = "";
  };
  $("flag-filter").oninput = () => flags && showFlags(flags);
}
