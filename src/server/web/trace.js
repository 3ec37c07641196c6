// The steps of answers as the server tells them, and sums over them; not kept beyond the page.

const traces = new WeakMap(); // message -> its trace

export const traceOf = (message) => traces.get(message);
export const hasTrace = (message) => traces.has(message);
export const stepsOf = (message) => traces.get(message)?.steps ?? [];

export function addSteps(message, steps) {
  if (!traces.has(message)) traces.set(message, { steps: [], decoded: { steps: 0, tokens: 0 }, counts: new Map() });
  const trace = traces.get(message);
  for (const step of steps) {
    const endsPrompt = trace.steps.length === 0 && step.drafts.length === 0;
    trace.steps.push(step);
    if (!endsPrompt) {
      ++trace.decoded.steps;
      trace.decoded.tokens += step.output.length;
    }
    for (const draft of step.drafts)
      for (const name of draft.drafters) {
        if (!trace.counts.has(name)) trace.counts.set(name, { proposed: 0, accepted: 0 });
        const count = trace.counts.get(name);
        ++count.proposed;
        count.accepted += draft.accepted ? 1 : 0;
      }
  }
}
