#pragma once
// What tuning has an engine do: write the texts of a record, and work under load while a ProbePace
// measures. The engine runs already; the caller waits. Once `stop` is set, both cancel what runs
// after the next step.

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "engine/engine_port.h"
#include "tune/candidate_recorder.h"
#include "tune/probe_pace.h"
#include "tune/record_file.h"

namespace foretoken {

struct TunePrompt {
  std::string category;
  std::uint32_t number = 0;
  std::vector<Token> tokens;
};

struct AnswerWish {
  int max_new_tokens = 128;
  float temperature = 0;
  int top_logprobs = -1;
  std::vector<Token> stop_tokens;
};

// A request for the prompt. Its seed is the prompt's, so that a prompt gets the same answer again.
Request request_of(const TunePrompt& prompt, const AnswerWish& wish);

// Has all prompts answered, so many at once, and hands over each answer as it comes, trees
// included. recorder: null where there is no draft model. Throws Error where the engine gives up.
void record_answers(EnginePort& engine, CandidateRecorder* recorder,
                    const std::vector<TunePrompt>& prompts, const AnswerWish& wish, int at_once,
                    const std::atomic<bool>& stop,
                    const std::function<void(RecordedText)>& on_answer);

// Keeps so many requests running for about so many seconds, a quarter of them plainly. What was
// seen is the pace's.
void watch_costs(EnginePort& engine, ProbePace& pace, const std::vector<TunePrompt>& prompts,
                 const AnswerWish& wish, int at_once, double seconds, const std::atomic<bool>& stop,
                 const std::function<void(double)>& on_share);

}  // namespace foretoken
