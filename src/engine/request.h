#pragma once
// What the engine is asked to do and how it answers: plain data plus the one object two threads
// share.
//   Request      token ids in, sampling parameters, limits
//   TokenStream  the way back: the engine pushes deltas, one consumer takes them; either side may
//                end it
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

#include "base/shared_tokens.h"
#include "batch/sampling.h"
#include "batch/token_constraint.h"
#include "draft/draft_report.h"
#include "draft/draft_trace.h"

namespace foretoken {

class CancelBox;

enum class FinishReason {
  kStop,         // a stop token was sampled (it is the last token of the output), or the
                 // constraint is fulfilled and allows nothing further
  kLength,       // max_new_tokens or the context is full
  kCancelled,    // the consumer cancelled, or /abort_request
  kDeadline,     // its deadline passed
  kOutOfMemory,  // cannot fit even alone
  kShutdown,     // the server stops before it could finish
  kStuck,        // its constraint allows no token, or cannot say which
  kVoid,         // the model gave no numbers to draw the next token by
  kDisplaced,    // the queue is full, and those in it go before this one
};

struct Finish {
  FinishReason reason = FinishReason::kLength;
  Token stop_token = kNoToken;  // kStop by a token
  std::string message;          // failures: one sentence
};

// The target's hidden state behind its final norm at one position.
using HiddenState = std::vector<float>;

// What arrived since the last take().
struct TokenDelta {
  std::vector<SampledToken> tokens;  // newly committed output
  std::vector<SampledToken>
      prompt_scores;  // input logprobs, one per prompt token from logprob_start on (the first
                      // prompt token has no logprob: token set, logprob NaN)
  std::vector<HiddenState> hidden = {};  // of positions from hidden_start on, one each, in order
  std::vector<DraftTrace> traces = {};   // of the steps that brought `tokens`, if they are traced
  int cached_tokens = 0;    // prompt tokens served from the prefix cache (set with the first token)
  int retractions = 0;      // preemptions so far
  int verify_steps = 0;     // decode steps so far; the one that ends the prompt is none
  int accepted_drafts = 0;  // drafts accepted so far
  int proposed_drafts = 0;  // drafts offered so far
  DraftReport drafts;       // so far
  std::vector<int> accept_histogram;  // [k] = steps so far that accepted k drafts
  std::optional<Finish> finish;       // set once, with the last delta
};

// Single producer (engine thread), single consumer (any thread). Locks its own mutex.
class TokenStream {
 public:
  // `wake` is called after each push, on the engine thread, without the lock held: it must be
  // short, e.g. post to an executor. Where it throws std::bad_alloc it is called again until it
  // does not, because nothing else would wake the consumer. It may be empty (tests poll with
  // wait()).
  explicit TokenStream(std::function<void()> wake = {});

  // ---- engine side
  // Without memory it throws; a delta that brings nothing but a finish needs none.
  void push(TokenDelta delta);
  bool finished() const;  // a finish was pushed
  bool cancelled() const;
  // From now on until the finish, cancel() leaves `arrival` in the box; at once if it was called
  // before.
  void report_cancel_to(std::shared_ptr<CancelBox> box, std::uint64_t arrival);

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
  std::string id;           // for abort_request and logs; unique among running requests
  SharedTokens prompt;      // at least one token; choices of one prompt share it
  SamplingParams sampling;  // seed resolved, stop_tokens resolved (EOS included unless ignored)
  std::shared_ptr<const ConstraintSource> constraint;  // of the output; null: any text
  int max_new_tokens = 128;  // >= 0; 0: the prompt is computed and scored, nothing is sampled
  int logprob_start = -1;    // >= 0: score prompt tokens from this position on
  // >= 0: hidden states of positions from here on are sent; all but that of the last token.
  int hidden_start = -1;
  // Those of lower rank are admitted first, equals as they arrived.
  std::int64_t rank = 0;
  std::uint64_t cache_salt = 0;  // separates prefix caches (extra_key)
  // Texts of other scopes do not inform this one's drafts, where the drafter keeps texts apart.
  std::uint64_t draft_scope = 0;
  SharedTokens prediction;  // what the client expects as the answer: for drafts, changes no token
  DraftWish draft_wish;     // changes no token either
  std::optional<std::chrono::steady_clock::time_point> deadline;
  // When it was accepted; the time in the queue counts from here.
  std::chrono::steady_clock::time_point accepted = std::chrono::steady_clock::now();
  std::shared_ptr<TokenStream> stream;
};

}  // namespace foretoken
