#pragma once
// ExpertBlocks: the mixture of experts that stands for the MLP in some or all layers of a model, as
// plain values. Families fill them in; ExpertMlp computes with them. Plain data.

#include <cstdint>
#include <string_view>
#include <vector>

#include "backend/experts.h"

namespace foretoken {

// What tensors are called in the checkpoint, behind the layer's prefix:
//   <block><router>.weight   <block><experts><number>.<gate|up|down>.weight
//   <block><shared>gate_proj.weight, ..   <block><shared_gate>.weight
struct ExpertNames {
  std::string_view block = "mlp.";
  std::string_view router = "gate";
  std::string_view experts = "experts.";
  std::string_view gate = "gate_proj", up = "up_proj", down = "down_proj";
  std::string_view gate_up = "gate_up_proj";  // in place of gate and up, where there is one
  std::string_view shared = "shared_experts.";
  std::string_view shared_gate = "shared_expert_gate";
  std::string_view score_bias = "gate.e_score_correction_bias";
  std::string_view router_norm = "router.scale", expert_scale = "router.per_expert_scale";
};

// How a checkpoint holds the experts of a layer.
enum class ExpertStacks : std::uint8_t {
  kNone,           // each has tensors of its own
  kTurned,         // [experts, in, out]: gate and up by turns, as columns
  kColumns,        // [experts, in, out]: gate, then up, as columns
  kColumnsOrRows,  // the same, or as kRows where the shape is that of rows
  kRows            // [experts, out, in]: gate, then up
};

// Experts beside the MLP of a layer, and not in its place. Norms by what they are called.
//
//   stream --> [before_mlp] --> MLP     --> [mlp] --------------------+--> [after_mlp] --> stream
//   stream --> [before]     --> experts --> [after] ------------------+
//   stream --> norm * router_norm / sqrt(hidden) --> router --> which experts
struct BesideNorms {
  std::string_view mlp = {}, before = {}, after = {};  // empty: experts stand for the MLP

  bool is_on() const { return !before.empty(); }
};

struct ExpertBlocks {
  Routing routing = {};            // no experts: all layers have one MLP
  int intermediate = 0;            // of an expert
  int shared_intermediate = 0;     // of the expert that every row uses; 0: there is none
  bool is_shared_gated = false;    // it is weighed by a logistic router of its own
  bool has_score_bias = false;     // that chooses experts and does not weigh them
  bool has_router_bias = false;    // of the logits
  bool has_bias = false;           // of the products of experts
  bool has_expert_scales = false;  // of the weights of each
  // The logistic of its logit weighs what an expert reads, and not what it makes: of one expert a
  // row, which counts as it is.
  bool weighs_inputs = false;
  ExpertStacks stacks = ExpertStacks::kNone;
  BesideNorms beside = {};
  ExpertNames names = {};
  std::vector<bool> layers = {};  // which have experts; empty: all

  bool are_in(int layer) const {
    return routing.experts > 0 && (layers.empty() || layers.at(static_cast<std::size_t>(layer)));
  }
};

}  // namespace foretoken
