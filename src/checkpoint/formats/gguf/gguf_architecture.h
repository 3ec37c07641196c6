#pragma once
// GgufArchitecture: what a GGUF file's general.architecture is among the families that are served:
// their names for keys and tensors, and what the writer changes in tensors. One row a family in
// gguf_architectures.cc; nothing else knows their names. Constants.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "checkpoint/formats/gguf/gguf_model.h"

namespace foretoken {

struct GgufArchitecture {
  // "attn_q" in the file's "blk.0.attn_q.weight" is "self_attn.q_proj" of "model.layers.0". A name
  // with a star stands for the matrices of all experts, which are one tensor in the file, or in
  // older ones one each: "ffn_up_exps", or "ffn_up.0" and so on.
  struct LayerName {
    std::string_view stored;
    std::string_view name;
  };
  // A key behind "<architecture>." and that of config.json.
  struct NumberKey {
    std::string_view stored;
    std::string_view name;
  };

  std::string_view name;          // general.architecture
  std::string_view architecture;  // config.json's: "LlamaForCausalLM"
  std::string_view model_type;
  bool has_experts = false;  // two families share a name, and one has experts
  // Rows of q and k lie as pairs of neighbours are rotated.
  bool pairs_neighbours = false;
  bool layers_differ = false;  // KV heads and widths of MLPs are lists, of which add() takes care
  bool is_head = false;        // a draft model: its layers are not those behind a target's
  bool centres = false;        // norms are of what a row is beside its mean
  float norm_offset = 0.0F;    // was added to the weights of norms
  std::string_view plain_norm = {};             // but not to those of names that end so
  std::span<const LayerName> layer_names = {};  // beside and before those of all families
  std::span<const NumberKey> numbers = {};      // beside those of all families
  // What is more in config.json; may be null.
  void (*add)(const GgufModel& model, boost::json::object& config) = nullptr;
};

// Of the model. Throws Error naming all where its architecture is not among them.
const GgufArchitecture& gguf_architecture(const GgufMetadata& metadata);

// The name under which the decoder asks for a tensor; nullopt: it asks for none of this name. Of
// the matrices of all experts it has the star.
std::optional<std::string> decoder_name(const GgufArchitecture& architecture,
                                        std::string_view stored);

// That of one expert.
std::string expert_name(const std::string& name_with_star, std::int64_t expert);

}  // namespace foretoken
