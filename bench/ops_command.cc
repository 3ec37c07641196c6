#include "bench/ops_command.h"

#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "base/index.h"
#include "base/rng.h"
#include "base/seconds_since.h"
#include "bench/report.h"
#include "bench/shapes.h"
#include "tensor/buffer.h"

namespace foretoken {
namespace {

constexpr std::size_t kRoofBytes = std::size_t{1} << 30;
// Matrices of one shape that calls take in turns: together larger than caches.
constexpr std::int64_t kTurnBytes = std::int64_t{400} << 20;
constexpr double kWarm = 0.04;  // seconds a round

using Matrices = std::vector<std::unique_ptr<PackedLinear>>;

Matrices matrices(Ops& ops, std::int64_t out, std::int64_t in) {
  Buffer memory(at(out * in) * sizeof(std::uint16_t));
  auto* bits = static_cast<std::uint16_t*>(memory.data());
  for (std::int64_t i = 0; i < out * in; ++i)  // of about 2^-7, either sign
    bits[i] =
        static_cast<std::uint16_t>(0x3c00 | (mix_seed(1, static_cast<std::uint64_t>(i)) & 0x807f));
  const Tensor weights = memory.view(DType::kBF16, {out, in});
  Matrices all;
  for (std::int64_t bytes = 0; all.empty() || bytes < kTurnBytes; bytes += out * in * 2)
    all.push_back(ops.pack({.weights = {&weights, 1}, .biases = {}}));
  return all;
}

// A sequence of `context` tokens and a tree of `rows` nodes behind it.
class OneSequence {
 public:
  OneSequence(Ops& ops, const ModelConfig& config, int context)
      : ops_(ops), context_(context), trees_(1, kMaxTreeNodes), table_(1) {
    const int pages = (context + kMaxTreeNodes) / kPageTokens + 1;
    kv_ = ops.alloc_kv({.layers = 1, .kv_heads = config.kv_heads, .head_dim = config.head_dim},
                       pages);
    table_.pages[0].resize(at(std::int64_t{pages}));
    std::iota(table_.pages[0].begin(), table_.pages[0].end(), 0);
  }
  void begin(int rows) {
    trees_.plant(0, 1);
    for (int n = 1; n < rows; ++n) trees_.grow(0, n < 8 ? n - 1 : 0, n);
    StepPlan plan;
    plan.entries.push_back({.slot = 0, .has_tree = true, .params = &params_});
    table_.length[0] = context_;
    ops_.layout(plan, trees_, table_, batch_);
  }
  const Batch& batch() const { return batch_; }
  const KvLayer& kv() const { return kv_[0]; }

 private:
  Ops& ops_;
  int context_;
  DraftTrees trees_;
  SeqTable table_;
  SamplingParams params_;
  Batch batch_;
  std::vector<KvLayer> kv_;
};

// The median over rounds of seconds of a call, of as many as take a hundredth of a second.
double seconds_of(Ops& ops, int rounds, const std::function<void()>& begin,
                  const std::function<void(int)>& call) {
  int count = 4;
  const auto spend = [&] {
    begin();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) call(i);
    ops.read_back();
    return seconds_since(start);
  };
  // Clocks that have gone down while the host was at work come up again.
  for (double warm = 0; warm < kWarm * rounds;) warm += spend();
  while (spend() < 0.01 && count < 512) count *= 2;
  std::vector<double> all;
  for (int r = 0; r < rounds; ++r) all.push_back(spend() / count);
  return median(std::move(all));
}

}  // namespace

int ops_command(const StepOptions& options) {
  ThreadPool pool(options.threads);
  const auto ops = make_backend(options.backend, pool);
  const ModelConfig config = shape_config(options.shape);
  const std::int64_t hidden = config.hidden, inner = config.intermediate;
  const std::int64_t q_width = std::int64_t{config.heads} * config.head_dim;
  const std::int64_t qkv_width = q_width + std::int64_t{2} * config.kv_heads * config.head_dim;
  OneSequence sequence(*ops, config, options.context);
  Buffer memory(kRoofBytes);
  std::memset(memory.data(), 1, kRoofBytes);
  const double roof =
      ops->measure_roof(memory.view(DType::kU8, {static_cast<std::int64_t>(kRoofBytes)}))
          .read_bytes_per_s;
  fmt::print("{}, {}, context {}, read {:.1f} GB/s\n{:<12} {:>5} {:>10} {:>8} {:>6}\n",
             ops->description(), options.shape, options.context, roof / 1e9, "operation", "rows",
             "us", "GB/s", "share");
  const auto time = [&](const char* name, int rows, double bytes,
                        const std::function<void(int)>& call) {
    const double seconds = seconds_of(*ops, options.rounds, [&] { sequence.begin(rows); }, call);
    fmt::print("{:<12} {:>5} {:>10.1f} {:>8.1f} {:>6.2f}\n", name, rows, seconds * 1e6,
               bytes / seconds / 1e9, bytes / seconds / roof);
  };
  const auto temp = [&](std::int64_t rows, std::int64_t width) {
    return ops->temp(DType::kF32, {rows, width});
  };

  struct Product {
    const char* name;
    std::int64_t out, in;
  };
  for (const Product& p : {Product{"qkv", qkv_width, hidden}, Product{"o", hidden, q_width},
                           Product{"gate and up", 2 * inner, hidden},
                           Product{"down", hidden, inner}, Product{"head", config.vocab, hidden}}) {
    const Matrices all = matrices(*ops, p.out, p.in);
    for (const int rows : options.nodes)
      time(p.name, rows, static_cast<double>(all[0]->bytes()), [&](int i) {
        const ScratchScope call_only(*ops);
        ops->linear(*all[at(std::int64_t{i}) % all.size()], temp(rows, p.in), temp(rows, p.out));
      });
  }
  const Tensor weight = ops->alloc(DType::kF32, {hidden});
  const AttentionShape shape{
      .heads = config.heads, .kv_heads = config.kv_heads, .head_dim = config.head_dim, .scale = 1};
  const RopeTable rope{
      .cos = ops->alloc(DType::kF32, {options.context + kMaxTreeNodes, config.head_dim / 2}),
      .sin = ops->alloc(DType::kF32, {options.context + kMaxTreeNodes, config.head_dim / 2}),
      .rotary_dim = config.head_dim};
  for (const int rows : options.nodes) {
    time("add, norm", rows, 0, [&](int) {
      const ScratchScope call_only(*ops);
      ops->add_norm(temp(rows, hidden), temp(rows, hidden), weight, 1e-5F, temp(rows, hidden));
    });
    time("rope, store", rows, 0, [&](int) {
      const ScratchScope call_only(*ops);
      ops->rope_store_kv(temp(rows, qkv_width), rope, {}, shape, sequence.batch(), sequence.kv(),
                         temp(rows, q_width));
    });
    const AttentionPlan* plan = nullptr;
    time("attention", rows, 0, [&](int i) {
      const ScratchScope call_only(*ops);
      if (i == 0) plan = &ops->plan_attention(shape, sequence.batch());
      ops->attention(temp(rows, q_width), sequence.kv(), *plan, temp(rows, q_width));
    });
    time("activation", rows, 0, [&](int) {
      const ScratchScope call_only(*ops);
      ops->gated_act(temp(rows, 2 * inner), Activation::kSilu, temp(rows, inner));
    });
    TopTokens found;
    time("best token", rows, 0, [&](int) {
      const ScratchScope call_only(*ops);
      ops->top_tokens(temp(rows, config.vocab), 1, found);
    });
  }
  return 0;
}

}  // namespace foretoken
