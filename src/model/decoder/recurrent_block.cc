#include "model/decoder/recurrent_block.h"

#include <cmath>
#include <vector>

#include "model/decoder/forward_memory.h"

namespace foretoken {
namespace {

std::vector<MatrixPart> parts_of(const std::string& prefix, const std::vector<StoredRows>& stored) {
  std::vector<MatrixPart> parts;
  for (const StoredRows& rows : stored)
    for (int block = 0; block < rows.blocks; ++block)
      parts.push_back({.name = prefix + std::string(rows.name),
                       .rows = rows.rows,
                       .first = rows.first + block * rows.step,
                       .stored_rows = rows.stored});
  return parts;
}

// [channels, 1, taps] as [taps, channels].
void turn_taps(std::vector<float>& values, const RecurrentShape& shape) {
  const std::vector<float> stored = values;
  for (int c = 0; c < shape.channels; ++c)
    for (int t = 0; t < shape.taps; ++t)
      values[static_cast<std::size_t>(t) * static_cast<std::size_t>(shape.channels) +
             static_cast<std::size_t>(c)] =
          stored[static_cast<std::size_t>(c) * static_cast<std::size_t>(shape.taps) +
                 static_cast<std::size_t>(t)];
}

void to_rate(std::vector<float>& values) {
  for (float& value : values) value = -std::exp(value);
}

}  // namespace

RecurrentBlock::RecurrentBlock(WeightReader& read, const ModelConfig& config,
                               const std::string& prefix, std::int64_t in_width)
    : blocks_(config.recurrent), eps_(config.rms_eps) {
  const RecurrentShape& shape = blocks_.shape;
  const RecurrentNames& names = blocks_.names;
  const std::string name = prefix + std::string(names.block);
  const auto linear = [&](const std::vector<StoredRows>& rows, Bias bias) {
    const bool is_there = !rows.empty() && !rows.front().name.empty();
    return is_there ? read.linear(parts_of(name, rows), in_width, bias)
                    : std::unique_ptr<PackedLinear>();
  };
  const Bias bias = bias_if(blocks_.has_bias);
  inputs_ = linear(blocks_.inputs, bias);
  input_gate_ = linear({blocks_.input_gate}, bias);
  gate_ = linear(blocks_.gate, bias);
  dt_ = linear({blocks_.dt}, bias);
  beta_ = linear({blocks_.beta}, bias);
  out_ = read.linear({{name + std::string(names.out), config.hidden}}, blocks_.out_width(), bias);

  const std::string taps = name + std::string(names.taps);
  weights_.taps =
      read.changed(taps + ".weight", {shape.channels, 1, shape.taps}, {shape.taps, shape.channels},
                   [&](std::vector<float>& values) { turn_taps(values, shape); });
  if (blocks_.has_taps_bias) weights_.taps_bias = read.vector(taps + ".bias", shape.channels);
  weights_.has_silu = blocks_.has_silu;
  if (blocks_.norms_heads) norm_ = read.vector(name + "norm.weight", shape.value_dim);
  if (const int groups = blocks_.norm_groups; groups > 0) {
    const Tensor all = read.vector(name + "norm.weight", blocks_.out_width());
    norm_ = Tensor(all.data(), all.dtype(), {groups, blocks_.out_width() / groups});
  }
  if (!shape.has_state()) return;
  const Shape heads{shape.value_heads};
  weights_.dt_bias = read.exact(name + "dt_bias", shape.value_heads);
  weights_.rate = read.has(name + "rate") ? read.exact(name + "rate", shape.value_heads)
                                          : read.changed(name + "A_log", heads, heads, to_rate);
  if (blocks_.has_skip) weights_.skip = read.exact(name + "D", shape.value_heads);
}

Tensor RecurrentBlock::product(StepOps& ops, const std::unique_ptr<PackedLinear>& w,
                               Tensor in) const {
  if (w == nullptr) return {};
  const Tensor out = ops.temp(DType::kF32, {in.dim(0), w->out_width()});
  ops.linear(*w, in, out);
  return out;
}

void RecurrentBlock::project(Tensor in, const RopeTables&, const KvLayer& kv,
                             LayerScratch& s) const {
  const ScratchScope inside(s.ops);
  const Tensor inputs = product(s.ops, inputs_, in);
  if (input_gate_) s.ops.gate(inputs, product(s.ops, input_gate_, in), GateCurve::kNone);
  const Tensor out = s.queries(query_width());
  s.ops.recur({.inputs = inputs, .dt = product(s.ops, dt_, in), .beta = product(s.ops, beta_, in)},
              weights_, s.batch, kv, out);
  finish(s.ops, in, out);
}

// Norm and gate.
void RecurrentBlock::finish(StepOps& ops, Tensor in, Tensor out) const {
  const RecurrentShape& shape = blocks_.shape;
  if (blocks_.norms_heads) {
    const Tensor heads(out.data(), DType::kF32,
                       {out.dim(0) * shape.value_heads, std::int64_t{shape.value_dim}});
    ops.norm(heads, norm_, eps_, heads);
  }
  if (gate_) ops.gate(out, product(ops, gate_, in), blocks_.gate_curve);
  if (blocks_.norm_groups > 0) ops.norm_groups(out, norm_, eps_);
}

void RecurrentBlock::attend(const KvLayer&, LayerScratch& s) const {
  s.ops.linear(*out_, s.queries(query_width()), s.delta);
}

// What the products make, and what recur() does.
std::size_t RecurrentBlock::temp_bytes(const ModelConfig& config, std::int64_t rows) {
  const RecurrentBlocks& blocks = config.recurrent;
  if (blocks.layers.empty()) return 0;
  const std::int64_t heads = blocks.shape.value_heads;
  return rows_bytes(
      rows, 3 * std::int64_t{blocks.shape.channels} + 4 * heads + 2 * blocks.out_width(), 12);
}

}  // namespace foretoken
