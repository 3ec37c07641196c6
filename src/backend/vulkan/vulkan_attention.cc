#include "backend/vulkan/vulkan_attention.h"

#include <algorithm>
#include <array>
#include <bit>

#include "backend/host/host_step.h"
#include "backend/kv_codes.h"
#include "backend/vulkan/calls.h"
#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr float kLogTwoE = 1.44269504F;

// What attention.comp reads of a row.
struct RowWords {
  std::uint32_t position, first, tree_start, first_page, nodes_low, nodes_high;
};

// How a row is cut into parts that workgroups look at side by side.
struct Parts {
  std::int64_t positions = 0;  // of a part; 0: there is one, of all
  std::int64_t most = 1;       // of a row
};

struct VulkanPlan final : AttentionPlan {
  Address rows = 0, pages = 0;
  std::int64_t count = 0;  // of rows
  Parts parts;
};

std::vector<RowWords> list_rows(const Batch& batch, const AttentionShape& shape) {
  std::vector<RowWords> rows(at(batch.rows));
  for (const BatchSeq& seq : batch.seqs)
    for (int i = 0; i < seq.rows; ++i) {
      const std::size_t row = at(seq.first_row + i);
      const std::uint64_t nodes = seq.is_chain ? 0 : batch.mask[row];
      const std::int32_t position =
          nodes == 0 ? seq.base + i : seq.base + seq.chain + std::popcount(nodes) - 1;
      const std::int32_t first = std::max(seq.first_slot, shape.first_seen(position));
      rows[row] = {static_cast<std::uint32_t>(position),
                   static_cast<std::uint32_t>(std::min(first, position)),
                   static_cast<std::uint32_t>(seq.base + seq.chain),
                   static_cast<std::uint32_t>(seq.first_page),
                   static_cast<std::uint32_t>(nodes),
                   static_cast<std::uint32_t>(nodes >> 32U)};
    }
  return rows;
}

// The smallest ones, blocks before spans, of which there are not too many: their states are kept.
// Where rows and heads alone keep the device busy, none are made.
Parts parts_of(std::span<const RowWords> rows, const AttentionShape& shape) {
  constexpr std::int64_t kBusy = 1024;
  const std::int64_t whole = static_cast<std::int64_t>(rows.size()) * shape.heads;
  if (whole >= kBusy) return {};
  for (const std::int64_t positions : {128, 512}) {
    std::int64_t most = 1;
    for (const RowWords& row : rows) {
      const std::int64_t low = row.first, last = row.position;
      most = std::max(most, last / positions - low / positions + 1);
    }
    if (most == 1) return {};
    if (whole * most <= VulkanAttention::kMostParts) return {positions, most};
  }
  return {};
}

// KIND of shaders/kv_formats.glsl.
std::uint32_t kind_of(DType dtype) {
  constexpr std::array kKinds{DType::kBF16,   DType::kF16,    DType::kI8,
                              DType::kF8E4M3, DType::kF8E5M2, DType::kF32};
  const auto found = std::ranges::find(kKinds, dtype);
  CHECK(found != kKinds.end()) << dtype_name(dtype);
  return static_cast<std::uint32_t>(found - kKinds.begin());
}

// VARIANT of shaders/head_row.glsl.
std::uint32_t row_variant(DType dtype, int dim) {
  constexpr int kLarge = 256;
  return kind_of(dtype) | (dim > kLarge ? 0x100U : 0U);
}

// VARIANT of shaders/attention_state.glsl.
std::uint32_t attention_variant(DType dtype, const AttentionShape& shape, const Parts& parts) {
  const bool is_latent = !shape.has_stored_values();
  const std::uint32_t pairs = shape.out_dim() > 512 ? 8 : shape.head_dim > 256 ? 4 : 2;
  return static_cast<std::uint32_t>(parts.positions) | kind_of(dtype) << 16U |
         (is_latent ? 0x80000U : 0U) | pairs << 20U;
}

Address address_or_none(const Tensor& tensor) { return tensor.empty() ? 0 : address_of(tensor); }

}  // namespace

void VulkanAttention::expect_holds(const KvShape& shape) {
  const auto refuse = [](std::string what, std::string found) {
    throw Error({.what = std::move(what),
                 .where = "--device",
                 .expected = "a model that this backend serves (see docs/use/gpu.md)",
                 .found = std::move(found)});
  };
  const bool is_code = is_kv_code(shape.dtype);
  for (int layer = 0; layer < shape.layers; ++layer) {
    if (shape.keeps_state_of(layer)) continue;
    const int dim = shape.heads_of(layer).dim;
    if (dim % 2 != 0 || dim > kMostDims)
      refuse("the Vulkan backend computes attention of even heads of up to 1024",
             "heads of " + std::to_string(dim));
    if (is_code && dim % 4 != 0)
      refuse("the Vulkan backend keeps codes of 8 bits of heads in multiples of 4",
             "heads of " + std::to_string(dim));
  }
}

void VulkanAttention::forget() {
  places_.clear();
  plans_.clear();
}

const VulkanAttention::Places& VulkanAttention::places_of(const Batch& batch) {
  for (const Places& known : places_)
    if (known.position == batch.position && known.slot == batch.kv_slot) return known;
  Places& made = places_.emplace_back();
  made.position = batch.position;
  made.slot = batch.kv_slot;
  made.positions = context_.recorder.send(std::span(made.position));
  made.slots = context_.recorder.send(std::span(made.slot));
  return made;
}

void VulkanAttention::store(Tensor qkv, const RopeTable& rope, const QkNorm& norm,
                            const AttentionShape& shape, const Batch& batch, const KvLayer& kv,
                            Tensor q) {
  if (batch.rows == 0) return;
  const Places& places = places_of(batch);
  const RopeStoreCall call{
      .qkv = address_of(qkv),
      .cosines = address_or_none(rope.cos),
      .sines = address_or_none(rope.sin),
      .q_norm = address_or_none(norm.q_weight),
      .k_norm = address_or_none(norm.k_weight),
      .q = address_of(q),
      .k = address_of(kv.k),
      .v = address_of(kv.v),
      .k_scale = address_or_none(kv.k_scale),
      .v_scale = address_or_none(kv.v_scale),
      .positions = places.positions,
      .slots = places.slots,
      .heads = static_cast<std::uint32_t>(shape.heads),
      .kv_heads = static_cast<std::uint32_t>(shape.kv_heads),
      .dim = static_cast<std::uint32_t>(shape.head_dim),
      .rotary = static_cast<std::uint32_t>(rope.rotary_dim),
      .pairs = static_cast<std::uint32_t>(rope.pairs()),
      .eps = norm.eps,
      .has_norm = (norm.q_weight.empty() ? 0U : 1U) | (norm.k_weight.empty() ? 0U : 2U)};
  context_.recorder.dispatch(
      context_.pipelines.of(Shader::kRopeStore, row_variant(kv.k.dtype(), shape.head_dim)), call,
      {shape.heads + 2 * shape.kv_heads, batch.rows});
}

void VulkanAttention::store_latent(const LatentRows& latent, const RopeTable& rope,
                                   const AttentionShape& shape, const Batch& batch,
                                   const KvLayer& kv, Tensor q) {
  if (batch.rows == 0) return;
  const Places& places = places_of(batch);
  const StoreLatentCall call{.kv = address_of(latent.kv),
                             .q_in = address_of(latent.q),
                             .norm = address_of(latent.norm),
                             .cosines = address_or_none(rope.cos),
                             .sines = address_or_none(rope.sin),
                             .q = address_of(q),
                             .k = address_of(kv.k),
                             .k_scale = address_or_none(kv.k_scale),
                             .positions = places.positions,
                             .slots = places.slots,
                             .heads = static_cast<std::uint32_t>(shape.heads),
                             .q_width = static_cast<std::uint32_t>(latent.q.dim(1) / shape.heads),
                             .dim = static_cast<std::uint32_t>(shape.head_dim),
                             .value_dim = static_cast<std::uint32_t>(shape.value_dim),
                             .rotary = static_cast<std::uint32_t>(rope.rotary_dim),
                             .pairs = static_cast<std::uint32_t>(rope.pairs()),
                             .eps = latent.eps,
                             .pairs_neighbours = latent.pairs_neighbours ? 1U : 0U};
  context_.recorder.dispatch(
      context_.pipelines.of(Shader::kStoreLatent, row_variant(kv.k.dtype(), shape.head_dim)), call,
      {shape.heads + 1, batch.rows});
}

const AttentionPlan& VulkanAttention::plan(const AttentionShape& shape, const Batch& batch) {
  auto made = std::make_unique<VulkanPlan>();
  made->shape = shape;
  made->batch = &batch;
  made->count = batch.rows;
  const std::vector<RowWords> rows = list_rows(batch, shape);
  made->rows = context_.recorder.send(std::span(rows));
  made->pages = context_.recorder.send(std::span(batch.pages));
  made->parts = parts_of(rows, shape);
  plans_.push_back(std::move(made));
  return *plans_.back();
}

void VulkanAttention::run(Tensor q, const KvLayer& kv, const AttentionPlan& any, Tensor out,
                          Address rounded, GpuArena& scratch) {
  const auto& plan = static_cast<const VulkanPlan&>(any);
  const AttentionShape& shape = plan.shape;
  const Parts& parts = plan.parts;
  const Arena::Mark before = scratch.mark();
  const bool is_cut = parts.positions > 0;
  const Address states =
      is_cut ? address_of(scratch.alloc(
                   DType::kF32, {plan.count * shape.heads * parts.most, shape.out_dim() + 2}))
             : 0;
  const float cap = shape.score_cap * kLogTwoE;
  const AttentionCall call{.q = address_of(q),
                           .k = address_of(kv.k),
                           .v = address_or_none(kv.v),
                           .k_scale = address_or_none(kv.k_scale),
                           .v_scale = address_or_none(kv.v_scale),
                           .to = address_of(out),
                           .rows = plan.rows,
                           .pages = plan.pages,
                           .sinks = address_or_none(kv.sinks),
                           .rounded = rounded,
                           .parts = states,
                           .heads = static_cast<std::uint32_t>(shape.heads),
                           .kv_heads = static_cast<std::uint32_t>(shape.kv_heads),
                           .dim = static_cast<std::uint32_t>(shape.head_dim),
                           .value_dim = static_cast<std::uint32_t>(shape.out_dim()),
                           .flags = (kv.sinks.empty() ? 0U : 1U) | (rounded == 0 ? 0U : 2U),
                           .scale = shape.scale * kLogTwoE,
                           .cap = cap,
                           .inverse_cap = cap > 0 ? 1.0F / cap : 0.0F,
                           .most_parts = static_cast<std::uint32_t>(parts.most)};
  const std::uint32_t variant = attention_variant(kv.k.dtype(), shape, parts);
  context_.recorder.dispatch(context_.pipelines.of(Shader::kAttention, variant), call,
                             {shape.heads, plan.count * parts.most});
  if (is_cut)
    context_.recorder.dispatch(context_.pipelines.of(Shader::kAttentionJoin, variant), call,
                               {shape.heads, plan.count});
  scratch.release(before);
}

void VulkanAttention::move(const Walk& walk, const Batch& batch, std::span<const KvLayer> layers) {
  const std::vector<KvMove> moves = kv_moves(walk, batch);
  if (moves.empty()) return;
  const Address sent = context_.recorder.send(std::span(moves));
  for (const KvLayer& layer : layers) {
    if (layer.k.empty()) continue;
    // Of a head of one slot.
    const std::int64_t words =
        layer.k.dim(2) * static_cast<std::int64_t>(dtype_bytes(layer.k.dtype())) / 4;
    const KvMoveCall call{.k = address_of(layer.k),
                          .v = address_or_none(layer.v),
                          .k_scale = address_or_none(layer.k_scale),
                          .v_scale = address_or_none(layer.v_scale),
                          .moves = sent,
                          .count = static_cast<std::uint32_t>(moves.size()),
                          .kv_heads = static_cast<std::uint32_t>(layer.k.dim(1)),
                          .words = static_cast<std::uint32_t>(words),
                          .has_scales = layer.k_scale.empty() ? 0U : 1U,
                          .has_values = layer.v.empty() ? 0U : 1U};
    context_.recorder.dispatch(context_.pipelines.of(Shader::kKvMove), call,
                               {ceil_div(words, std::int64_t{64}), layer.k.dim(1)});
  }
}

}  // namespace foretoken
