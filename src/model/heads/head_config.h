#pragma once
// HeadConfig: how a draft head is built, as data: what it reads, how embedding and feature are
// joined, which norms it has, what its tensors are called. One table for each family of checkpoints
// (EAGLE, EAGLE-3, MTP of several makes); HeadDraft computes all of them. Throws Error naming what
// does not fit. Pure data; read once.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/config/model_config.h"
#include "model/decoder/decoder.h"

namespace foretoken {

enum class HeadFamily { kEagle, kEagle3 };

// The norm in front of a decoder's layer, within the layer.
inline constexpr const char* kUsualNorm = "input_layernorm";

struct HeadConfig {
  ModelConfig layer;  // sizes, rotary settings and number of its layers; vocab is the target's
  FeatureTaps taps;
  std::int64_t target_hidden = 0;  // width of a tap
  // Why `quantization_config` cannot be read: a fault only where there are codes.
  std::optional<Error> quantization_fault;

  // What joins embedding e and feature h: one matrix to the width of the stream, or the first
  // layer's own q, k and v matrices of twice the width (EAGLE-3).
  enum class Join { kMatrix, kLayer } join = Join::kMatrix;
  bool feature_first = false;  // order of the columns: h | e instead of e | h
  bool join_bias = false;
  bool first_embedding_is_zero = false;  // the row at position 0 reads no token
  bool norm_before_residual = false;     // kLayer: the stream starts as the normed feature

  bool tap_join_bias = false;
  bool recurs_before_norm = false;  // what the next level reads: the stream without final norm
  // Where there is a head for each depth: whether all of them read the target's feature, or only
  // the first does and each other one what the head before it made of the same row.
  bool all_read_target = false;
  bool is_whole_checkpoint = false;  // its checkpoint holds nothing else
  bool has_embedding = false;        // its own, not the target's
  bool head_is_embedding = false;    // its output matrix is its embedding
  std::int64_t draft_vocab = 0;      // rows of its own output matrix; 0: it has none

  // Names without ".weight"; empty: there is none.
  std::string embedding_name = "embed_tokens";  // where it has its own
  std::string layers_name;  // prefix of the layers' tensors, without their number
  int first_layer = 0;      // the number of the first
  std::string join_name;
  std::string tap_join_name;   // matrix from all taps to one feature
  std::string taps_norm;       // over all taps side by side, in front of that matrix
  std::string tap_norms_name;  // one norm per tap, in front of that matrix; a number follows
  std::string embedding_norm, feature_norm;
  std::string input_norm;  // of the first layer, which EAGLE lacks
  // Of the others, by layer, within it; those behind the last of these have the usual one.
  std::vector<std::string> later_norms;
  std::string final_norm, head_name;

  std::string layer_prefix(int i) const {
    return layers_name + std::to_string(first_layer + i) + ".";
  }
  std::string norm_before(int i) const {
    if (i == 0) return input_norm;
    const auto later = static_cast<std::size_t>(i - 1);
    return layer_prefix(i) + (later < later_norms.size() ? later_norms[later] : kUsualNorm);
  }
};

// A head in a checkpoint folder of its own, as its config says; fit_to_tensors() (head_tensors.h)
// adds what its tensors say. target: the model it was made for.
HeadConfig read_head_config(const std::string& folder, HeadFamily family,
                            const ModelConfig& target);

// The MTP heads that a checkpoint carries beside the target's layers, one for each depth; empty
// when it has none. tensor_names: of the checkpoint; empty for made-up weights, for which the
// target's config decides. Those of a chain leave the first slots of a text empty, one more each;
// no more are found than there are slots in a page.
std::vector<HeadConfig> find_mtp_heads(const std::vector<std::string>& tensor_names,
                                       const ModelConfig& target);

// One layer of the target's sizes that keeps keys and values, without what its layers differ in.
ModelConfig one_usual_layer(ModelConfig target);

// Prefixes of the tensors of such heads: the target leaves them to who drafts.
std::vector<std::string> mtp_prefixes(const std::vector<std::string>& tensor_names,
                                      const ModelConfig& target);

}  // namespace foretoken
