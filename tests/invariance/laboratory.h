#pragma once
// Laboratory: runs the same requests on one model in one numeric order under the conditions of a
// cell. It keeps a backend with the packed model for each (ISA, threads, delayed), since packing
// costs more than running. Not thread-safe.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/ops.h"
#include "base/threads.h"
#include "draft/drafter.h"
#include "draft/step_pace.h"
#include "engine/engine.h"
#include "invariance/matrix.h"
#include "model/decoder/decoder.h"
#include "model/draft_model.h"
#include "model/runner.h"

namespace foretoken {

class Laboratory {
 public:
  using Loader = std::function<std::unique_ptr<Decoder>(Ops&)>;
  // The head that this proposer means; null: one of made-up weights will do.
  using HeadLoader =
      std::function<std::unique_ptr<DraftModel>(Ops&, const Decoder& target, Proposer)>;
  // Puts something between the model and its backend (negative controls).
  using Wrapper = std::function<std::unique_ptr<Ops>(std::unique_ptr<Ops>)>;

  Laboratory(std::string gemm_order, Loader load, Wrapper wrap = {}, HeadLoader load_head = {});
  ~Laboratory();

  // What all cells must give: each request alone in plain scalar code on one thread, whole prompts,
  // no cache, no trees.
  static Cell base_cell();

  // Answers in the order of the requests. `truth`: prompts with outputs, what the drafter may
  // guess from. With the cache on every request is answered twice, the second time from the cache;
  // the second answers follow the first.
  std::vector<TokenDelta> run(const Cell& cell, const std::vector<Request>& requests,
                              const std::vector<std::vector<Token>>& truth = {});

  std::uint64_t vocab();

  // Of all runs since the start: proof that the conditions did occur.
  struct Occurrences {
    std::uint64_t cached_tokens = 0, retractions = 0, proposed = 0, accepted = 0;
  };
  const Occurrences& occurrences() const { return occurrences_; }

 private:
  struct Bench;
  Bench& bench(const std::string& isa, int threads, bool is_delayed);
  DraftModel& draft_of(Bench& bench, Proposer proposer);
  using Texts = std::vector<std::vector<Token>>;
  std::unique_ptr<Drafter> make_drafter(Bench& bench, const Trees& trees, const Texts& truth);
  std::unique_ptr<Drafter> make_union(Bench& bench, const Trees& trees, const Texts& truth,
                                      std::shared_ptr<StepPace> pace);
  std::unique_ptr<Drafter> make_one(Bench& bench, const Trees& trees, const Texts& truth,
                                    std::shared_ptr<DraftPace> pace);

  std::string gemm_order_;
  Loader load_;
  Wrapper wrap_;
  HeadLoader load_head_;
  std::map<std::tuple<std::string, int, bool>, std::unique_ptr<Bench>> benches_;
  Occurrences occurrences_;
};

// A head of made-up weights of the family that a proposer means, kept as a quantization says, with
// keys and values of this type; absent: that of the target's weights.
std::unique_ptr<DraftModel> made_up_head(Ops& ops, const Decoder& target, Proposer proposer,
                                         const Quantization& quantization,
                                         std::optional<DType> kv_dtype);

// Prompts with the outputs that the base gave: what the drafter may guess from.
std::vector<std::vector<Token>> texts_of(const std::vector<Request>& requests,
                                         const std::vector<TokenDelta>& answers);

// The first difference between the answers of a cell and the base answers (once, or twice in a
// row), or empty.
std::string first_difference(const std::vector<TokenDelta>& answers,
                             const std::vector<TokenDelta>& base);

}  // namespace foretoken
