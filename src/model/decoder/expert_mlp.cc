#include "model/decoder/expert_mlp.h"

#include <cmath>

#include "model/decoder/forward_memory.h"

namespace foretoken {

ExpertMlp::ExpertMlp(WeightReader& read, const ModelConfig& config, const std::string& prefix)
    : routing_(config.experts.routing), act_(config.activation), eps_(config.rms_eps) {
  const ExpertBlocks& blocks = config.experts;
  read.ops().expect_routing(routing_);
  weighs_inputs_ = blocks.weighs_inputs;
  CHECK(!weighs_inputs_ || !config.norms.before_mlp.empty()) << "the stream would be overwritten";
  const ExpertNames& names = blocks.names;
  const auto named = [&](std::string_view name) {
    return prefix + std::string(names.block) + std::string(name);
  };
  const std::int64_t hidden = config.hidden, width = blocks.intermediate;
  router_ = read.linear({{named(names.router), routing_.experts}}, hidden,
                        bias_if(blocks.has_router_bias), MatrixRole::kRouter);
  if (blocks.has_score_bias) vectors_.bias = read.exact(named(names.score_bias), routing_.experts);
  if (blocks.has_expert_scales)
    vectors_.scale = read.vector(named(names.expert_scale), routing_.experts);
  if (blocks.beside.is_on()) {
    const float share = 1.0F / std::sqrt(static_cast<float>(hidden));
    router_norm_ =
        read.changed(named(names.router_norm), {hidden}, {hidden}, [&](std::vector<float>& values) {
          for (float& value : values) value *= share;
        });
  }
  for (int e = 0; e < routing_.experts; ++e) {
    const std::string name = named(names.experts) + std::to_string(e) + ".";
    const auto part = [&](std::string_view matrix, std::int64_t rows) {
      return MatrixPart{.name = name + std::string(matrix), .rows = rows};
    };
    const Bias bias = bias_if(blocks.has_bias);
    std::vector<MatrixPart> gate_up{part(names.gate, width), part(names.up, width)};
    const std::string both = name + std::string(names.gate_up);
    if (read.has_matrix(both)) gate_up = parts_of_fused(both, {width, width});
    weights_.push_back(read.linear(gate_up, hidden, bias));
    weights_.push_back(read.linear({part(names.down, hidden)}, width, bias));
    experts_.push_back({weights_.end()[-2].get(), weights_.back().get()});
  }
  read.ops().expect_experts(experts_);
  if (blocks.shared_intermediate == 0) return;
  shared_.emplace(
      read, config,
      GatedMlp::Place{.prefix = named(names.shared), .width = blocks.shared_intermediate});
  if (blocks.is_shared_gated)
    shared_gate_ =
        read.linear({{named(names.shared_gate), 1}}, hidden, Bias::kNone, MatrixRole::kRouter);
}

void ExpertMlp::forward(StepOps& ops, Tensor in, Tensor stream, Tensor out) const {
  const ScratchScope inside(ops);
  const std::int64_t rows = in.dim(0);
  const Tensor logits = ops.temp(DType::kF32, {rows, routing_.experts});
  const Tensor chosen = ops.temp(DType::kI32, {rows, routing_.chosen});
  const Tensor weights = ops.temp(DType::kF32, {rows, routing_.chosen});
  ops.linear(*router_, router_input(ops, in, stream), logits);
  ops.route(logits, routing_, vectors_, chosen, weights);
  const Tensor shared = shared_ ? shared_part(ops, in) : Tensor();
  if (weighs_inputs_) weigh_input(ops, logits, in);
  ops.mix_experts(experts_, act_, in, chosen, weights, out);
  if (shared_) ops.add(out, shared);
}

// By the logistic of the greatest logit, which is that of the expert that reads the row.
void ExpertMlp::weigh_input(StepOps& ops, Tensor logits, Tensor in) const {
  const Routing greatest{.experts = routing_.experts, .chosen = 1, .score = RouterScore::kLogit};
  const Tensor chosen = ops.temp(DType::kI32, {in.dim(0), 1});
  const Tensor logit = ops.temp(DType::kF32, {in.dim(0), 1});
  ops.route(logits, greatest, {}, chosen, logit);
  ops.gate_rows(in, logit);
}

Tensor ExpertMlp::router_input(StepOps& ops, Tensor in, Tensor stream) const {
  if (router_norm_.empty()) return in;
  const Tensor normed = ops.temp(DType::kF32, stream.shape());
  ops.norm(stream, router_norm_, eps_, normed);
  return normed;
}

Tensor ExpertMlp::shared_part(StepOps& ops, Tensor in) const {
  const Tensor shared = ops.temp(DType::kF32, in.shape());
  shared_->forward(ops, in, in, shared);
  if (shared_gate_) {
    const Tensor gate = ops.temp(DType::kF32, {in.dim(0), 1});
    ops.linear(*shared_gate_, in, gate);
    ops.gate_rows(shared, gate);
  }
  return shared;
}

std::size_t ExpertMlp::expert_bytes() const {
  std::size_t bytes = 0;
  for (const auto& matrix : weights_) bytes += matrix->bytes();
  return bytes;
}

// Logits twice, because the scores that they become are scratch, too.
std::size_t ExpertMlp::temp_bytes(const ModelConfig& config, std::int64_t rows) {
  const ExpertBlocks& experts = config.experts;
  if (experts.routing.experts == 0) return 0;
  const std::int64_t shared = experts.shared_intermediate > 0 ? config.hidden + 1 : 0;
  const std::int64_t beside = experts.beside.is_on() ? 3 * config.hidden : 0;
  const int weighed = experts.weighs_inputs ? 2 : 0;
  const std::int64_t routed = 2 * experts.routing.experts + 2 * experts.routing.chosen + weighed;
  return rows_bytes(rows, routed + shared + beside, 9 + weighed);
}

}  // namespace foretoken
