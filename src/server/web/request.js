// A request for an answer, and the answer as it comes.
import { call, eventsOf, faultOf, Refused } from "./connection.js";
import { state } from "./state.js";
import { addSteps } from "./trace.js";

function wordedFor(message) {
  if (message.role !== "assistant") return message;
  const out = { role: "assistant", content: message.content };
  if (message.reasoning) out.reasoning_content = message.reasoning;
  if (message.calls.length > 0)
    out.tool_calls = message.calls.map(({ id, name, args }) => ({
      id, type: "function", function: { name, arguments: args },
    }));
  return out;
}

function isWorthSending(message) {
  return message.role !== "assistant" || message.content !== "" || message.calls.length > 0;
}

// `before`: the messages that the answer follows; {tools, sampling, system}: what else makes its text.
export function bodyOf(before, { tools, sampling, system }, withDrafts, withTrace) {
  const messages = before.filter(isWorthSending).map(wordedFor);
  if (system) messages.unshift({ role: "system", content: system });
  return {
    ...sampling, ...(tools.length > 0 ? { tools } : {}), model: state.model, messages,
    stream: true, stream_options: { include_usage: true },
    speculative: { enabled: withDrafts, trace: withTrace },
  };
}

// Streams an answer into `message`; `changed` is called as it grows.
export async function stream(body, message, signal, changed) {
  const response = await call("/v1/chat/completions", {
    method: "POST", signal, body: JSON.stringify(body), headers: { "Content-Type": "application/json" },
  });
  if (!response.ok) throw new Refused(await faultOf(response));
  let first = 0, last = 0;
  for await (const event of eventsOf(response)) {
    if (event.error) throw new Refused(event.error.message);
    if (event.usage) message.stats.tokens = event.usage.completion_tokens;
    const choice = event.choices[0];
    if (!choice) continue;
    if (!choice.delta.role) {
      last = performance.now();
      first ||= last;
    }
    addDelta(message, choice);
    message.stats.seconds = (last - first) / 1000;
    changed();
  }
}

function addDelta(message, choice) {
  const { delta, speculative } = choice;
  message.content += delta.content ?? "";
  message.reasoning += delta.reasoning_content ?? "";
  for (const part of delta.tool_calls ?? []) {
    const call = (message.calls[part.index] ??= { id: "", name: "", args: "" });
    call.id ||= part.id ?? "";
    call.name += part.function.name ?? "";
    call.args += part.function.arguments ?? "";
  }
  if (choice.finish_reason) message.finish = choice.finish_reason;
  if (!speculative) return;
  if (speculative.trace) addSteps(message, speculative.trace);
  if (speculative.verify_steps === undefined) return;
  message.stats.steps = speculative.verify_steps;
  message.stats.accepted = speculative.accepted_by_depth.reduce((sum, n) => sum + n, 0);
}
