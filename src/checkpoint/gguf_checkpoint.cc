#include "checkpoint/gguf_checkpoint.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "base/error.h"
#include "base/index.h"
#include "checkpoint/formats/gguf/gguf_architecture.h"

namespace foretoken {
namespace {

// Factors of wavelengths, which are in config.json (gguf_config.cc).
constexpr auto kOfConfig = std::to_array<std::string_view>(
    {"rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight"});

// Tensors that lie in the file with another number of dimensions than in a checkpoint.
Shape usual_shape(std::string_view name, const Shape& stored) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> ends) {
    return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
  };
  if (stored.rank() == 1 && is_one_of({"shared_expert_gate.weight"})) return {1, stored[0]};
  if (stored.rank() == 2 && is_one_of({".conv1d.weight", ".conv.conv.weight"}))
    return {stored[0], 1, stored[1]};
  if (stored.rank() == 2 && is_one_of({"mamba.rate", "mamba.D", "mamba.norm.weight"}))
    return {stored.elements()};
  return stored;
}

std::optional<DType> float_type(GgufType type) {
  if (type == GgufType::kF32) return DType::kF32;
  if (type == GgufType::kF16) return DType::kF16;
  if (type == GgufType::kBF16) return DType::kBF16;
  return std::nullopt;
}

// Heads whose rows lie in pairs; 0 where the rows of this tensor do not.
std::int64_t paired_heads(const GgufModel& model, const GgufArchitecture& architecture,
                          std::string_view name) {
  const bool is_query = name.find(".q_proj.") != std::string_view::npos;
  const bool is_key = name.find(".k_proj.") != std::string_view::npos;
  if (!architecture.pairs_neighbours || !(is_query || is_key)) return 0;
  const std::string prefix = std::string(architecture.name) + ".attention.";
  auto heads = model.metadata().integer(prefix + "head_count");
  if (is_key)
    if (const auto of_keys = model.metadata().greatest(prefix + "head_count_kv")) heads = of_keys;
  if (!heads) model.metadata().refuse_missing(prefix + "head_count");
  return *heads;
}

}  // namespace

GgufCheckpoint::GgufCheckpoint(const std::string& path, bool show_progress) : model_(path) {
  for (const auto& [name, blocks] : model_.tensors()) add(name, blocks);
  progress_.emplace("gguf", static_cast<int>(model_.parts()), show_progress);
}

// A tensor that the decoder does not know keeps its name, so that it is named as unused.
void GgufCheckpoint::add(const std::string& stored, const GgufBlocks& blocks) {
  if (std::ranges::find(kOfConfig, stored) != kOfConfig.end()) return;
  const GgufArchitecture& architecture = gguf_architecture(model_.metadata());
  const std::string name = decoder_name(architecture, stored).value_or(stored);
  if (name.find('*') != std::string::npos) return add_experts(stored, name, blocks);
  if (const Shape usual = usual_shape(name, blocks.shape); !(usual == blocks.shape)) {
    GgufBlocks& reshaped = parts_.emplace_back(blocks);
    reshaped.shape = usual;
    return add_rows(stored, name, GgufRows(reshaped));
  }
  const std::int64_t heads = paired_heads(model_, architecture, name);
  const std::int64_t rows = blocks.shape[0];
  if (heads < 0 || heads > rows || (heads > 0 && rows % (2 * heads) != 0))
    throw Error({"rows are not those of whole heads", model_.path() + ", tensor " + stored,
                 "an even number for each of " + std::to_string(heads) + " heads",
                 std::to_string(rows)});
  const std::string_view plain = architecture.plain_norm;
  const bool is_norm = name.ends_with("norm.weight") && (plain.empty() || !name.ends_with(plain));
  add_rows(stored, name, GgufRows(blocks, heads, is_norm ? architecture.norm_offset : 0.0F));
}

// One matrix for each expert, one after the other.
void GgufCheckpoint::add_experts(const std::string& stored, const std::string& name,
                                 const GgufBlocks& blocks) {
  const bool is_bias = stored.ends_with(".bias");
  if (blocks.shape.rank() != (is_bias ? 2 : 3))
    throw Error({is_bias ? "biases of experts are not two-dimensional"
                         : "matrices of experts are not three-dimensional",
                 model_.path() + ", tensor " + stored,
                 {},
                 blocks.shape.str()});
  const std::int64_t experts = blocks.shape[0], rows = is_bias ? 1 : blocks.shape[1];
  for (std::int64_t e = 0; e < experts; ++e) {
    GgufBlocks& part = parts_.emplace_back(blocks);
    const std::size_t begin = at(e * rows) * blocks.row_bytes();
    part.shape = is_bias ? Shape{blocks.width()} : Shape{rows, blocks.width()};
    part.data += begin;
    part.offset += begin;
    add_rows(stored, expert_name(name, e), GgufRows(part));
  }
}

void GgufCheckpoint::add_rows(const std::string& stored, const std::string& name,
                              const GgufRows& rows) {
  if (!rows_.emplace(name, rows).second)
    throw Error({"two tensors stand for one of the decoder's",
                 model_.path() + ", tensor " + stored,
                 {},
                 "two for " + name});
  ++unreleased_[rows.blocks().file];
}

std::optional<GgufRows> GgufCheckpoint::rows(const std::string& name) const {
  const auto found = rows_.find(name);
  return found == rows_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Tensor> GgufCheckpoint::find(const std::string& name, const Shape&) const {
  const auto found = rows(name);
  if (!found) return std::nullopt;
  const GgufBlocks& blocks = found->blocks();
  if (!found->type().is_read())
    throw Error({"tensor is of a type that is not supported",
                 blocks.file->path() + ", tensor " + name, std::string(gguf_types_read()),
                 std::string(found->type().name)});
  blocks.file->will_need(blocks.offset, blocks.bytes());
  const auto dtype = float_type(found->type().type);
  if (dtype && found->is_plain() && blocks.offset % dtype_bytes(*dtype) == 0)
    return Tensor(const_cast<std::byte*>(blocks.data), *dtype, blocks.shape);
  return floats_of(name, *found);
}

Tensor GgufCheckpoint::floats_of(const std::string& name, const GgufRows& rows) const {
  constexpr std::int64_t kElements = 1 << 16;  // of a piece of work
  const std::lock_guard lock(mutex_);
  Buffer& floats = floats_[name];
  const auto elements = static_cast<std::size_t>(rows.shape().elements());
  if (floats.bytes() == elements * sizeof(float)) return floats.view(DType::kF32, rows.shape());
  floats = Buffer(elements * sizeof(float));
  auto* const out = static_cast<float*>(floats.data());
  if (!pool_) pool_ = std::make_unique<ThreadPool>(0, false);
  const std::int64_t piece = std::max<std::int64_t>(1, kElements / rows.width());
  const std::int64_t pieces = (rows.rows() + piece - 1) / piece;
  pool_->parallel_for(static_cast<int>(pieces), [&](int item, int) {
    const std::int64_t end = std::min(rows.rows(), (item + 1) * piece);
    for (std::int64_t row = item * piece; row < end; ++row)
      rows.read(row, out + row * rows.width());
  });
  return floats.view(DType::kF32, rows.shape());
}

std::vector<std::string> GgufCheckpoint::names() const {
  std::vector<std::string> names;
  for (const auto& [name, rows] : rows_) names.push_back(name);
  return names;
}

void GgufCheckpoint::release(const std::string& name) const {
  const auto found = rows(name);
  if (!found) return;
  const GgufBlocks& blocks = found->blocks();
  blocks.file->check();  // before anybody computes with what was read
  const std::lock_guard lock(mutex_);
  floats_.erase(name);
  blocks.file->drop(blocks.offset, blocks.bytes());
  if (!released_.insert(name).second) return;
  if (released_.size() == rows_.size()) pool_.reset();
  if (--unreleased_[blocks.file] == 0) progress_->finish_one();
}

}  // namespace foretoken
