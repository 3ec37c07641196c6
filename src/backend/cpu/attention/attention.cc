#include "backend/cpu/attention/attention.h"

#include <algorithm>
#include <functional>

#include "base/index.h"

namespace foretoken {
namespace {

constexpr std::int64_t kAlone = 1 << 16;  // multiply-adds that are done before workers wake up

}  // namespace

std::size_t kv_format(DType dtype) {
  if (dtype == DType::kBF16) return 0;
  if (dtype == DType::kF16) return 1;
  if (dtype == DType::kF32) return 2;
  if (dtype == DType::kI8) return 3;
  if (dtype == DType::kF8E4M3) return 4;
  CHECK(dtype == DType::kF8E5M2) << "KV cannot be kept as " << dtype_name(dtype);
  return 5;
}

const AttentionPlan& CpuAttention::plan(const AttentionShape& shape, const Batch& batch) {
  if (plans_.size() == num_plans_)
    plans_.push_back(std::make_unique<AttentionItems>(kernels_.attention_queries));
  AttentionItems& items = *plans_[num_plans_++];
  items.build(shape, batch, pool_.size());
  return items;
}

void CpuAttention::reserve(const AttentionItems& items) {
  const std::size_t scratch_bytes = items.scratch_floats() * at(pool_.size()) * sizeof(float);
  if (scratch_.bytes() < scratch_bytes) scratch_ = Buffer(scratch_bytes);
  const std::size_t partial_bytes = items.partial_floats * sizeof(float);
  if (partials_.bytes() < partial_bytes) partials_ = Buffer(partial_bytes * 3 / 2);
}

// Plans of a target with two kinds of layers and of a draft model's reading, of the rows that end
// the last layer of both, and of levels, which are much smaller.
std::size_t CpuAttention::workspace_bytes(const ForwardSize& size) const {
  const std::size_t plans = 5 + at(size.forwards);
  AttentionItems items(kernels_.attention_queries);
  items.shape = size.attention;
  return plans * AttentionItems::most_bytes(size, pool_.size()) +
         items.scratch_floats() * at(pool_.size()) * sizeof(float) +
         items.most_partial_bytes(size, pool_.size()) * 3 / 2;
}

std::size_t CpuAttention::workspace_bytes() const {
  std::size_t bytes = scratch_.bytes() + partials_.bytes();
  for (const auto& plan : plans_) bytes += plan->bytes();
  return bytes;
}

// One layer: the items with its tensors.
struct CpuAttention::Call {
  const OpKernels& kernels;
  const AttentionItems& plan;
  Tensor q, out;
  const KvLayer& kv;
  const Done& done;
  float* scratch;
  float* partials;

  // The first query head of the item's KV head.
  static std::int64_t head_of(const AttentionItems::Item& item) {
    return std::int64_t{item.kv_head} * item.call.group;
  }
  // Column of the result where it begins.
  std::int64_t column_of(const AttentionItems::Item& item) const {
    return head_of(item) * plan.shape.out_dim();
  }

  const float* sinks_of(const AttentionItems::Item& item) const {
    return kv.sinks.empty() ? nullptr : kv.sinks.f32() + item.kv_head * item.call.group;
  }

  void run_item(const AttentionItems::Item& item, int worker) const {
    AttnItem call = item.call;
    const std::int64_t head_bytes = std::int64_t{plan.shape.head_dim} * kPageTokens *
                                    static_cast<std::int64_t>(dtype_bytes(kv.k.dtype()));
    call.k = static_cast<const char*>(kv.k.data()) + item.kv_head * head_bytes;
    if (!kv.v.empty()) call.v = static_cast<const char*>(kv.v.data()) + item.kv_head * head_bytes;
    if (!kv.k_scale.empty()) call.k_scale = kv.k_scale.f32() + item.kv_head * kPageTokens;
    if (!kv.v_scale.empty()) call.v_scale = kv.v_scale.f32() + item.kv_head * kPageTokens;
    call.q = q.row_f32(item.first_row) + head_of(item) * plan.shape.head_dim;
    call.out = out.row_f32(item.first_row) + column_of(item);
    call.sinks = sinks_of(item);
    call.scratch = scratch + at(worker) * plan.scratch_floats();
    if (item.partial != AttentionItems::kNone) call.partial = partials + item.partial;
    kernels.attention[kv_format(kv.k.dtype())](call);
    if (call.partial == nullptr) report(item);
  }

  void merge_spans(const AttentionItems::Merge& merge) const {
    const AttentionItems::Item& item = plan.items[at(merge.item)];
    AttnItem call = item.call;
    call.out = out.row_f32(item.first_row) + column_of(item);
    call.partial = partials + merge.partial;
    call.sinks = sinks_of(item);
    kernels.merge_spans(call, merge.spans);
    report(item);
  }

  void report(const AttentionItems::Item& item) const {
    if (!done) return;
    const AttnItem& call = item.call;
    for (int i = 0; i < call.count;) {
      const int query = call.first + i, head = query % call.group;
      const int heads = std::min(call.group - head, call.count - i);
      const int row = item.first_row + query / call.group;
      const std::int64_t col = column_of(item) + std::int64_t{head} * call.value_dim;
      done(row, col, heads * call.value_dim, out.row_f32(row) + col);
      i += heads;
    }
  }
};

void CpuAttention::run(Tensor q, const KvLayer& kv, const AttentionPlan& plan, Tensor out,
                       const Done& done) {
  const auto& items = static_cast<const AttentionItems&>(plan);
  reserve(items);
  const Call call{.kernels = kernels_,
                  .plan = items,
                  .q = q,
                  .out = out,
                  .kv = kv,
                  .done = done,
                  .scratch = static_cast<float*>(scratch_.data()),
                  .partials = static_cast<float*>(partials_.data())};
  const auto run_item = [&](int i, int worker) { call.run_item(items.items[at(i)], worker); };
  const auto run_merge = [&](int i, int) { call.merge_spans(items.merges[at(i)]); };
  const auto num_items = static_cast<int>(items.items.size()),
             num_merges = static_cast<int>(items.merges.size());
  if (items.work <= kAlone) {
    const FlushDenormals flush;
    for (int i = 0; i < num_items; ++i) run_item(i, 0);
    for (int i = 0; i < num_merges; ++i) run_merge(i, 0);
    return;
  }
  pool_.parallel_for(num_items, std::cref(run_item));
  if (num_merges > 0) pool_.parallel_for(num_merges, std::cref(run_merge));
}

}  // namespace foretoken
