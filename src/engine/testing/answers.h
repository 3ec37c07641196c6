#pragma once
// Answers: the whole of what an engine says about a request, for tests.

#include <string>
#include <vector>

#include "engine/engine.h"

namespace foretoken {

// All deltas of one stream merged; finish is set.
TokenDelta collect(TokenStream& stream);

// Submits all requests (their streams are made here) and waits for all of them, in order. Refused
// requests are a failure of the test's set-up: CHECK.
std::vector<TokenDelta> run_requests(EnginePort& engine, std::vector<Request> requests);

// The same for an engine that has not started yet, and is started when it has all of them: which
// requests meet in a step does not depend on the clock then.
std::vector<TokenDelta> start_and_run(Engine& engine, std::vector<Request> requests);

// The first difference between two lists of tokens with their logprobs, compared bit by bit (all
// NaN are equal); empty: none.
std::string difference(const std::vector<SampledToken>& a, const std::vector<SampledToken>& b);

// Whether two lists of hidden states have the same bits.
bool same_bits(const std::vector<HiddenState>& a, const std::vector<HiddenState>& b);

}  // namespace foretoken
