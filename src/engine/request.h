#pragma once
// What the engine is asked to do and how it answers: plain data plus the one object two threads
// share.
//   Request      token ids in, sampling parameters, limits
//   TokenStream  the way back: the engine pushes deltas, one consumer takes them; either side may
//   end it
// Not text: stop strings, templates and detokenisation belong to the consumer, which cancels the
// stream when it has seen enough.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "batch/sampling.h"

namespace foretoken {

enum class FinishReason {
  kStop,         // a stop token was sampled (it is the last token of the output)
  kLength,       // max_new_tokens or the context is full
  kCancelled,    // the consumer cancelled, or /abort_request
  kDeadline,     // its deadline passed
  kOutOfMemory,  // cannot fit even alone
  kShutdown,     // the server stops before it could finish
};

struct Finish {
  FinishReason reason = FinishReason::kLength;
  Token stop_token = kNoToken;  // kStop
  std::string message;          // failures: one sentence
};

// What arrived since the last take().
struct TokenDelta {
  std::vector<SampledToken> tokens;  // newly committed output
  std::vector<SampledToken>
      prompt_scores;        // input logprobs, one per prompt token from logprob_start on (the first
                            // prompt token has no logprob: token set, logprob NaN)
  int cached_tokens = 0;    // prompt tokens served from the prefix cache (set with the first token)
  int retractions = 0;      // preemptions so far
  int verify_steps = 0;     // decode steps so far; the one that ends the prompt is none
  int accepted_drafts = 0;  // drafts accepted so far
  int proposed_drafts = 0;  // drafts offered so far
  std::vector<int> accept_histogram;  // [k] = steps that accepted k drafts; filled with the finish
  std::optional<Finish> finish;       // set once, with the last delta
};

// Single producer (engine thread), single consumer (any thread). Locks its own mutex.
class TokenStream {
 public:
  // `wake` is called after each push, on the engine thread, without the lock held: it must be
  // short, e.g. post to an executor. It may be empty (tests poll with wait()).
  explicit TokenStream(std::function<void()> wake = {});

  // ---- engine side
  void push(TokenDelta delta);
  bool cancelled() const;

  // ---- consumer side
  // Everything that arrived since the last call, merged; nullopt when nothing did.
  std::optional<TokenDelta> take();
  // Blocks until something arrives, then take(). For tests and offline use.
  TokenDelta wait();
  // The engine will finish the request with kCancelled at its next step. Any thread, any number of
  // times.
  void cancel();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

struct Request {
  std::string id;             // for abort_request and logs; unique among running requests
  std::vector<Token> prompt;  // at least one token
  SamplingParams sampling;    // seed resolved, stop_tokens resolved (EOS included unless ignored)
  int max_new_tokens = 128;   // >= 0; 0: the prompt is computed and scored, nothing is sampled
  int logprob_start = -1;     // >= 0: score prompt tokens from this position on
  std::uint64_t cache_salt = 0;  // separates prefix caches (extra_key)
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::shared_ptr<TokenStream> stream;
};

}  // namespace foretoken
