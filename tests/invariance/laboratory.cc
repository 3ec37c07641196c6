#include "invariance/laboratory.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "backend/backend.h"
#include "backend/device_choice.h"
#include "backend/testing/delayed_ops.h"
#include "base/index.h"
#include "draft/catalogue/algorithms.h"
#include "draft/catalogue/union_drafter.h"
#include "draft/from_text/ngram/corpora.h"
#include "draft/from_text/ngram/ngram_options.h"
#include "draft/from_text/suffix/suffix_options.h"
#include "draft/testing/lone_drafter.h"
#include "draft/with_model/model_drafter.h"
#include "engine/testing/answers.h"
#include "engine/testing/erratic_pace.h"
#include "engine/testing/guess_drafter.h"
#include "engine/testing/random_heads.h"
#include "engine/testing/tiny_model.h"
#include "model/heads/language_draft.h"
#include "model/runner.h"

namespace foretoken {
namespace {

constexpr int kLongestContext = 1056;
constexpr int kManyPages = 160, kMaxRunning = 8;
constexpr int kSnapshots = 12;  // of states: few, so that some are given up

// What the longest of the requests needs, and a little more.
int context_of(const std::vector<Request>& requests) {
  int longest = 0;
  for (const Request& request : requests)
    longest = std::max(longest, static_cast<int>(request.prompt.size()) + request.max_new_tokens);
  return round_up(longest + kPageTokens, kPageTokens);
}

// A draft model that outlives its drafter.
class Borrowed final : public DraftModel {
 public:
  explicit Borrowed(DraftModel& model) : model_(model) {}
  FeatureTaps taps() const override { return model_.taps(); }
  std::int64_t tap_width() const override { return model_.tap_width(); }
  int feature_width() const override { return model_.feature_width(); }
  int carried_width() const override { return model_.carried_width(); }
  bool reads_target_kv() const override { return model_.reads_target_kv(); }
  Tensor features(const Features& target, std::span<const std::int32_t> rows) override {
    return model_.features(target, rows);
  }
  DraftRows forward(Batch& batch, const DraftInput& input) override {
    return model_.forward(batch, input);
  }
  Tensor logits(Tensor hidden) override { return model_.logits(hidden); }
  void allocate_kv(int) override {}
  KvShape kv_shape() const override { return model_.kv_shape(); }
  std::size_t weight_bytes() const override { return model_.weight_bytes(); }
  std::int64_t vocab() const override { return model_.vocab(); }
  std::size_t feature_bytes(std::int64_t rows) const override { return model_.feature_bytes(rows); }
  std::size_t forward_bytes(std::int64_t rows) const override { return model_.forward_bytes(rows); }
  ForwardSize forward_size(std::int64_t rows) const override { return model_.forward_size(rows); }
  std::int64_t hidden_width() const override { return model_.hidden_width(); }
  std::int64_t logit_width() const override { return model_.logit_width(); }
  std::span<const Token> target_tokens() const override { return model_.target_tokens(); }
  void see(std::span<const Token> text) override { model_.see(text); }

 private:
  DraftModel& model_;
};

}  // namespace

namespace {

bool shares_trees(const Trees& trees) {
  return trees.proposer == Proposer::kUnion || trees.proposer == Proposer::kWishes;
}

// What constraints let expect is sparse: it is joined with texts.
bool is_joined_with_texts(const Trees& trees) {
  return trees.algorithm != nullptr && trees.algorithm->is_service() &&
         !trees.algorithm->reads_predictions;
}

bool wants_predictions(const Trees& trees) {
  return shares_trees(trees) || (trees.algorithm != nullptr && trees.algorithm->is_service());
}

// The options of the algorithms that have some which change what is remembered; smaller memories
// give up runs all the time. Others draft as their flags' defaults say.
void vary(const Trees& trees, OwnOptions& own) {
  auto& ngram = own.edit<NgramOptions>();
  ngram.capacity = trees.topk % 2 == 0 ? 100'000 : 2000;
  ngram.shape.max_breadth = trees.topk;
  ngram.shape.order =
      trees.depth % 2 == 0 ? NgramShape::Order::kNewest : NgramShape::Order::kMostFrequent;
  // Half of the tree from a text that some requests are saying.
  if (trees.nodes > 2) ngram.corpus_drafts = trees.nodes / 2;
  auto& suffix = own.edit<SuffixOptions>();
  suffix.capacity = trees.topk % 2 == 0 ? 20'000 : 400;
  suffix.max_depth = 1 + trees.depth;
  suffix.max_answers = trees.topk;
}

Trees with(const Trees& trees, const Algorithm& algorithm) {
  Trees own = trees;
  own.proposer = Proposer::kAlgorithm;
  own.algorithm = &algorithm;
  return own;
}

}  // namespace

struct Laboratory::Bench {
  Bench(const BackendConfig& config, int num_threads, const Loader& load, const Wrapper& wrap)
      : threads(num_threads, false),
        ops(wrap(make_backend(config, threads))),
        decoder(load(*ops)),
        runner(*ops, *decoder, kManyPages, {.slots = kMaxRunning, .snapshots = kSnapshots}) {}

  ThreadPool threads;
  std::unique_ptr<Ops> ops;
  std::unique_ptr<Decoder> decoder;
  Runner runner;
  std::map<Proposer, std::unique_ptr<DraftModel>> drafts;
};

namespace {

// Of the target's vocabulary, with weights of its own.
std::unique_ptr<Decoder> random_draft(Ops& ops, std::int64_t vocab) {
  ModelConfig config = tiny_model(vocab, kLongestContext);
  config.layers = 1;
  return std::make_unique<Decoder>(ops, config, *dummy_weights(11), DType::kBF16);
}

// It proposes half of the vocabulary, and what texts bring.
std::unique_ptr<DraftModel> random_draft_model(Ops& ops, std::int64_t vocab) {
  std::vector<Token> half(at(vocab / 2));
  std::iota(half.begin(), half.end(), 0);
  return std::make_unique<LanguageDraft>(
      ops, random_draft(ops, vocab), vocab,
      DraftedTokens(std::move(half), vocab, {.groups = 2, .group_size = 7}));
}

RandomHead head_of(Proposer proposer) {
  switch (proposer) {
    case Proposer::kEagle:
      return RandomHead::kEagle;
    case Proposer::kFrSpec:
      return RandomHead::kFrSpec;
    case Proposer::kEagle3:
      return RandomHead::kEagle3;
    case Proposer::kMimo:
      return RandomHead::kMimo;
    case Proposer::kMimos:
      return RandomHead::kMimos;
    case Proposer::kNextns:
      return RandomHead::kNextns;
    case Proposer::kQueries:
      return RandomHead::kQueries;
    default:
      return RandomHead::kNextn;
  }
}

}  // namespace

std::unique_ptr<DraftModel> made_up_head(Ops& ops, const Decoder& target, Proposer proposer,
                                         const Quantization& quantization,
                                         std::optional<DType> kv_dtype) {
  return random_head(ops, target, head_of(proposer), quantization, kv_dtype);
}

DraftModel& Laboratory::draft_of(Bench& bench, Proposer proposer) {
  auto& made = bench.drafts[proposer];
  if (made) return *made;
  Ops& ops = *bench.ops;
  // A model whose layers keep a state cannot draft.
  if (proposer == Proposer::kItself && !bench.runner.keeps_states())
    made = std::make_unique<LanguageDraft>(ops, load_(ops), bench.runner.vocab());
  else if (proposer == Proposer::kItself || proposer == Proposer::kStranger)
    made = random_draft_model(ops, bench.runner.vocab());
  else if (load_head_)
    made = load_head_(ops, *bench.decoder, proposer);
  if (!made) made = made_up_head(ops, *bench.decoder, proposer, {}, {});
  made->allocate_kv(kManyPages);
  return *made;
}

std::unique_ptr<Drafter> Laboratory::make_drafter(Bench& bench, const Trees& trees,
                                                  const Texts& truth) {
  std::shared_ptr<StepPace> pace = std::make_shared<StepPace>();
  if (trees.is_erratic) pace = std::make_shared<ErraticPace>(5);
  if (shares_trees(trees) || is_joined_with_texts(trees))
    return make_union(bench, trees, truth, std::move(pace));
  return std::make_unique<LoneDrafter>(make_one(bench, trees, truth, pace), pace);
}

std::unique_ptr<Drafter> Laboratory::make_union(Bench& bench, const Trees& trees,
                                                const Texts& truth,
                                                std::shared_ptr<StepPace> pace) {
  auto all = std::make_unique<UnionDrafter>(kMaxRunning, std::move(pace));
  std::vector<Trees> parts;
  if (is_joined_with_texts(trees)) {
    parts = {trees, with(trees, *text_algorithms().front())};
  } else {
    parts.push_back(trees);
    parts.back().proposer = Proposer::kItself;
    for (const Algorithm* text : text_algorithms()) parts.push_back(with(trees, *text));
  }
  for (const Trees& part : parts)
    all->add([&](std::shared_ptr<DraftPace> part_pace) {
      return make_one(bench, part, truth, std::move(part_pace));
    });
  return all;
}

std::unique_ptr<Drafter> Laboratory::make_one(Bench& bench, const Trees& trees, const Texts& truth,
                                              std::shared_ptr<DraftPace> pace) {
  const TreeShape shape{.steps = trees.depth, .topk = trees.topk, .nodes = trees.nodes};
  if (trees.algorithm != nullptr) {
    DraftSetup setup;
    vary(trees, setup.options.own);
    if (setup.options.own.get<NgramOptions>().corpus_drafts > 0) {
      setup.corpora = std::make_shared<Corpora>(std::int64_t{1} << 20);
      CHECK(setup.corpora->add("said", truth.front()));
    }
    return trees.algorithm->make(
        {.setup = setup, .shape = shape, .num_slots = kMaxRunning, .pace = std::move(pace)});
  }
  if (trees.proposer != Proposer::kGuess) {
    return std::make_unique<ModelDrafter>(
        *bench.ops, std::make_unique<Borrowed>(draft_of(bench, trees.proposer)), shape, kManyPages,
        kMaxRunning, std::move(pace));
  }
  return std::make_unique<GuessDrafter>(
      GuessDrafter::Options{.max_nodes = trees.nodes,
                            .depth = trees.depth,
                            .topk = trees.topk,
                            .truth = trees.truth,
                            .vocab = static_cast<Token>(bench.runner.vocab()),
                            .seed = 3},
      truth);
}

Laboratory::Laboratory(std::string gemm_order, Loader load, Wrapper wrap, HeadLoader load_head)
    : gemm_order_(std::move(gemm_order)),
      load_(std::move(load)),
      wrap_(std::move(wrap)),
      load_head_(std::move(load_head)) {}
Laboratory::~Laboratory() = default;

namespace {

// Every seventh token is another one.
void predict(std::vector<Request>& requests, const std::vector<std::vector<Token>>& texts) {
  for (std::size_t i = 0; i < std::min(requests.size(), texts.size()); ++i) {
    const auto output = std::span(texts[i]).subspan(requests[i].prompt.size());
    for (std::size_t n = 0; n < output.size(); ++n)
      requests[i].prediction.push_back(n % 7 == 6 ? output[0] : output[n]);
  }
}

// Nothing at all, few nodes, one drafter or two.
void wish(std::vector<Request>& requests) {
  const auto choices = std::uint32_t{1} << (1 + text_algorithms().size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto number = static_cast<std::uint32_t>(i);
    requests[i].draft_wish = {.max_nodes = number % 3 == 1 ? 1 + static_cast<int>(number) : 64,
                              .drafters = number % choices};
  }
}

}  // namespace

Laboratory::Bench& Laboratory::bench(const std::string& isa, int threads, bool is_delayed) {
  auto& made = benches_[{isa, threads, is_delayed}];
  if (made) return *made;
  const auto wrap = [&](std::unique_ptr<Ops> ops) {
    if (wrap_) ops = wrap_(std::move(ops));
    return is_delayed ? make_delayed(std::move(ops), 3) : std::move(ops);
  };
  const bool is_cpu = !means_vulkan(isa);
  made = std::make_unique<Bench>(BackendConfig{.device = is_cpu ? "cpu" : isa,
                                               .cpu_isa = is_cpu ? isa : "auto",
                                               .gemm_order = gemm_order_},
                                 threads, load_, wrap);
  return *made;
}

Cell Laboratory::base_cell() {
  return {.isa = "scalar",
          .threads = 1,
          .company = Company::kAlone,
          .chunk = -1,
          .cache = false,
          .preempt_every = 0,
          .pressure = false,
          .ring = 1,
          .is_delayed = false,
          .trees = {}};
}

std::uint64_t Laboratory::vocab() {
  return static_cast<std::uint64_t>(bench("scalar", 1, false).runner.vocab());
}

std::vector<TokenDelta> Laboratory::run(const Cell& cell, const std::vector<Request>& requests,
                                        const std::vector<std::vector<Token>>& truth) {
  Bench& on = bench(cell.isa, cell.threads, cell.is_delayed);
  EngineConfig config;
  config.max_running_requests = kMaxRunning;
  config.context_length = context_of(requests);
  config.total_tokens =
      cell.pressure ? config.context_length + 6 * kPageTokens : kManyPages * kPageTokens;
  config.chunked_prefill_size = cell.chunk;
  config.radix_cache = cell.cache;
  config.force_preempt_every = cell.preempt_every;
  config.ring_depth = cell.ring;
  if (cell.company == Company::kAlone) config.idle.free_pages_seconds = 0;  // between all requests
  config.check_integrity = true;
  const auto drafter = make_drafter(on, cell.trees, truth);
  Engine engine(config, *on.ops, on.runner, *drafter);
  engine.start();

  std::vector<TokenDelta> answers;
  for (int pass = 0; pass < (cell.cache ? 2 : 1); ++pass) {
    std::vector<Request> asked = requests;
    if (wants_predictions(cell.trees)) predict(asked, truth);
    if (cell.trees.proposer == Proposer::kWishes) wish(asked);
    if (cell.company == Company::kReversed) std::reverse(asked.begin(), asked.end());
    std::vector<TokenDelta> given;
    if (cell.company == Company::kAlone) {
      for (const Request& request : asked) given.push_back(run_requests(engine, {request})[0]);
    } else {
      given = run_requests(engine, std::move(asked));
    }
    if (cell.company == Company::kReversed) std::reverse(given.begin(), given.end());
    std::move(given.begin(), given.end(), std::back_inserter(answers));
  }
  const EngineStats stats = engine.stats();
  occurrences_.cached_tokens += stats.cached_prompt_tokens;
  occurrences_.retractions += stats.retractions;
  occurrences_.proposed += stats.proposed_drafts;
  occurrences_.accepted += stats.accepted_drafts;
  return answers;
}

std::vector<std::vector<Token>> texts_of(const std::vector<Request>& requests,
                                         const std::vector<TokenDelta>& answers) {
  std::vector<std::vector<Token>> texts;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    texts.push_back(requests[i].prompt.to_vector());
    for (const SampledToken& token : answers[i].tokens) texts.back().push_back(token.token);
  }
  return texts;
}

std::string first_difference(const std::vector<TokenDelta>& answers,
                             const std::vector<TokenDelta>& base) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const TokenDelta& expected = base[i % base.size()];
    std::string found = difference(answers[i].prompt_scores, expected.prompt_scores);
    if (!found.empty()) return fmt::format("answer {}, prompt logprobs {}", i, found);
    found = difference(answers[i].tokens, expected.tokens);
    if (!found.empty()) return fmt::format("answer {}, output {}", i, found);
    if (!same_bits(answers[i].hidden, expected.hidden))
      return fmt::format("answer {}, hidden states", i);
    if (answers[i].finish->reason != expected.finish->reason)
      return fmt::format("answer {} ends for another reason: {}", i, answers[i].finish->message);
  }
  return {};
}

}  // namespace foretoken
