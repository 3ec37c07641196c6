#include "model/heads/draft_output.h"

#include <new>
#include <numeric>
#include <utility>

#include "base/index.h"
#include "model/config/quantization.h"

namespace foretoken {
namespace {

bool is_coded(const PackedLinear& w, DType dtype) {
  return w.bytes() < at(w.in_width() * w.out_width()) * dtype_bytes(dtype);
}

WeightFormat format_of_rows(const PackedLinear& whole, DType dtype, const WeightFormat& asked) {
  if (asked.is_coded() || !is_coded(whole, dtype)) return asked;
  return quantization_named("w8a8_int8", false, "").layers;
}

}  // namespace

DraftOutput::DraftOutput(LoadOps& ops, const PackedLinear& whole, DType dtype,
                         const WeightFormat& format, DraftedTokens tokens)
    : ops_(ops),
      whole_(whole),
      dtype_(dtype),
      format_(format_of_rows(whole, dtype, format)),
      tokens_(std::move(tokens)),
      always_(pack(tokens_.always())),
      groups_(at(tokens_.groups())) {}

std::unique_ptr<PackedLinear> DraftOutput::pack(std::span<const Token> rows) const {
  return rows.empty() ? nullptr : ops_.pack_rows(whole_, rows, dtype_, format_);
}

void DraftOutput::see(std::span<const Token> text) {
  for (const int group : tokens_.see(text)) {
    groups_[at(group)] = nullptr;
    try {
      groups_[at(group)] = pack(tokens_.group(group));
    } catch (const std::bad_alloc&) {
      tokens_.empty_group(group);
    }
  }
}

std::size_t DraftOutput::bytes() const {
  return always_->bytes() * at(most_columns()) / tokens_.always().size();
}

std::size_t DraftOutput::logit_bytes(std::int64_t rows) const {
  return at(rows) * (at(most_columns()) + tokens_.always().size()) * sizeof(float);
}

Tensor DraftOutput::logits(StepOps& ops, Tensor hidden) {
  const Tensor out =
      ops.temp(DType::kF32, {hidden.dim(0), static_cast<std::int64_t>(tokens().size())});
  if (tokens().size() == tokens_.always().size()) {
    ops.linear(*always_, hidden, out);
    return out;
  }
  every_row_.resize(at(hidden.dim(0)));
  std::iota(every_row_.begin(), every_row_.end(), 0);
  put(ops, *always_, hidden, out, 0);
  std::int64_t column = always_->out_width();
  for (const auto& group : groups_) {
    if (!group) continue;
    put(ops, *group, hidden, out, column);
    column += group->out_width();
  }
  return out;
}

// The columns of out from `column` on.
void DraftOutput::put(StepOps& ops, const PackedLinear& part, Tensor hidden, Tensor out,
                      std::int64_t column) {
  const ScratchScope part_only(ops);
  const Tensor found = ops.temp(DType::kF32, {hidden.dim(0), part.out_width()});
  ops.linear(part, hidden, found);
  ops.gather_columns(found, every_row_, out, column);
}

}  // namespace foretoken
