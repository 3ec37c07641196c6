#include "bench/queue_rig.h"

#include <ctime>
#include <utility>

#include "base/index.h"

namespace foretoken {
namespace {

constexpr int kQuestionTokens = 40;
constexpr int kTextPages = 50;     // of an earlier text in the cache
constexpr int kSparePages = 1024;  // that a scene with short pages leaves evictable
constexpr int kEndless = 1 << 20;  // tokens of output

EngineConfig config_of(const QueueLoad& load) {
  EngineConfig config;
  const bool is_full = load.scene == QueueScene::kSlotsFull;
  config.max_running_requests = load.running + (is_full ? 0 : 2);
  if (load.scene == QueueScene::kOneLeaves) config.max_running_requests = load.running + 1;
  const int own = pages_for(load.document_tokens) + load.running * 8;
  config.total_tokens = (load.cached_pages + own) * kPageTokens;
  config.context_length = config.total_tokens;
  config.decode_log_interval = 0;
  // What is kept back for the running ones is more than is spare, or very little.
  config.output_estimate_clip = load.scene == QueueScene::kPagesShort ? 4096 : 64;
  config.policy = load.policy;
  return config;
}

// Of this thread, so that other programs on the machine count less.
double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// No two pages of these texts are equal.
std::vector<Token> text_of(int tokens, Token& next) {
  std::vector<Token> text(at(tokens));
  for (Token& token : text) token = next++;
  return text;
}

}  // namespace

QueueRig::QueueRig(const QueueLoad& load)
    : load_(load),
      config_(config_of(load)),
      pool_(config_.total_tokens / kPageTokens),
      cache_(pool_, true),
      scheduler_(config_, {.pool = pool_, .cache = cache_, .slots = config_.max_running_requests}) {
  const std::vector<Token> document = text_of(load.document_tokens, next_);
  const bool is_cached = load.scene != QueueScene::kPrefixComing;
  if (is_cached) {
    add(document, 1);
    while (!scheduler_.is_idle()) step();
    talking_.clear();
    if (load.scene == QueueScene::kPagesShort)
      held_ = cache_.match(document, PrefixHashes(document));
  }
  for (int i = 0; i < load.running; ++i) add(text_of(64, next_), kEndless);
  while (scheduler_.queued() > 0) step();
  const int leave = is_cached ? 0 : pages_for(load.document_tokens) + 8;
  while (pool_.num_free() > kTextPages + leave) cache_text(kTextPages);
  if (load.scene == QueueScene::kPagesShort)
    while (cache_.evictable() > kSparePages) cache_.evict(1), held_.push_back(*pool_.take());
  if (!is_cached) add(document, 1, 0);  // scored, so that it leaves rows of each step to others
  if (!is_cached) step();
  for (int i = 0; i < load.waiting; ++i) {
    std::vector<Token> prompt = document;
    for (int t = 0; t < kQuestionTokens; ++t) prompt.push_back(next_++);
    add(std::move(prompt), 1);
  }
}

void QueueRig::cache_text(int pages) {
  const std::vector<Token> text = text_of(pages * kPageTokens, next_);
  std::vector<Page> own;
  for (int i = 0; i < pages; ++i) own.push_back(*pool_.take());
  cache_.publish(text, PrefixHashes(text), own);
  // What runs elsewhere holds its text for as long as it runs.
  if (load_.scene == QueueScene::kPagesShort) held_.insert(held_.end(), own.begin(), own.end());
}

void QueueRig::add(std::vector<Token> prompt, int max_new_tokens, int logprob_start) {
  Request request;
  request.id = "request-" + std::to_string(next_++);
  request.prompt = std::move(prompt);
  request.max_new_tokens = max_new_tokens;
  request.logprob_start = logprob_start;
  request.stream = std::make_shared<TokenStream>();
  talking_.push_back(request.stream);
  scheduler_.add(std::move(request));
}

// Every tree yields one token.
StepResult QueueRig::make_up_result(const StepPlan& plan) {
  StepResult result;
  Walk& walk = result.walk;
  result.outcomes.resize(plan.entries.size());
  for (const StepEntry& entry : plan.entries) {
    WalkSeq& found = walk.seqs.emplace_back();
    found.slot = entry.slot;
    const int chain = static_cast<int>(entry.chain.size());
    if (entry.score_from >= 0) found.scored.resize(at(chain - entry.score_from));
    if (entry.has_tree) {
      found.path.push_back(0);
      found.emitted.emplace_back().token = next_++;
    }
  }
  return result;
}

double QueueRig::step() {
  const double begin = thread_seconds();
  std::optional<StepOrder> plan = scheduler_.plan();
  const double planned = thread_seconds();
  if (!plan) return planned - begin;
  StepResult result = make_up_result(*plan);
  StepHandle handle(std::move(*plan), std::move(result));
  const double computed = thread_seconds();
  scheduler_.retire(handle);
  const double retired = thread_seconds();
  for (const auto& stream : talking_) stream->take();
  return planned - begin + (retired - computed);
}

}  // namespace foretoken
