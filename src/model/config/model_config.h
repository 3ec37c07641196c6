#pragma once
// ModelConfig: config.json of a checkpoint as a plain struct: sizes, rotary settings, tokens, and
// the blocks that the layers are made of. A feature that the decoder does not
// have is an Error naming the key, never ignored. Pure data; parsed once.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "checkpoint/quantized/stored_quantization.h"
#include "model/config/blocks.h"
#include "tensor/tensor.h"

namespace foretoken {

struct RopeScaling {
  enum class Kind {
    kNone,
    kLinear,
    kDynamic,
    kYarn,
    kLongRope,
    kLlama3,
    kProportional
  } kind = Kind::kNone;
  std::optional<double> factor;                       // absent: max_position / original
  double low_freq_factor = 1.0;                       // llama3
  double high_freq_factor = 4.0;                      // llama3
  std::optional<std::int64_t> original_max_position;  // llama3, yarn, longrope
  std::optional<double> attention_factor;             // yarn, longrope
  double beta_fast = 32.0;                            // yarn
  double beta_slow = 1.0;                             // yarn
  std::optional<double> mscale, mscale_all_dim;       // yarn, the latter of all scores of latents
  bool truncate = true;                               // yarn
  std::vector<double> short_factor, long_factor;      // longrope, [head_dim / 2]
  double share = 1.0;  // proportional: of the pairs of a head, from the first on, that rotate
};

struct ModelConfig : Blocks {
  std::string architecture;  // "LlamaForCausalLM", ...
  std::string model_type;
  int layers = 0;
  int hidden = 0;
  int intermediate = 0;
  int heads = 0;
  int kv_heads = 0;  // as they are kept: of latent attention one, of latent and rotated part
  int head_dim = 0;
  std::int64_t vocab = 0;
  std::int64_t max_position = 0;    // trained length
  std::int64_t context_length = 0;  // what is served, see context_length.h
  float rms_eps = 1e-6F;
  double rope_theta = 10000.0;
  RopeScaling rope;
  bool tied_embeddings = false;
  bool has_towers = false;  // of images: the checkpoint holds more than the text model
  int mtp_layers = 0;       // draft heads that the checkpoint carries, as far as the config says so
  bool mtp_has_embedding = false;     // they do not share the target's
  std::optional<DType> stored_dtype;  // torch_dtype / dtype
  std::vector<Token> eos;             // eos_token_id, one or several
  Token bos = kNoToken;
  std::optional<StoredQuantization> stored_quantization;  // matrices are codes already
  std::optional<DType> kv_dtype;  // of keys and values; absent: that of the weights

  int rotated() const { return rotary_dim > 0 ? rotary_dim : head_dim; }  // elements of a head

  KvHeads heads_of(int layer) const {
    return layer_heads.empty() ? KvHeads{kv_heads, head_dim}
                               : layer_heads[static_cast<std::size_t>(layer)];
  }
  int intermediate_of(int layer) const {
    return layer_intermediate.empty() ? intermediate
                                      : layer_intermediate[static_cast<std::size_t>(layer)];
  }
  int kv_layers() const;    // those with keys and values of their own, or states
  int widest_head() const;  // of all layers
  int widest_mlp() const;   // the same, without experts

  // Parses the text of config.json; `where` names it in errors. `overrides`: JSON object merged
  // over it (--json-model-override-args), may be empty. context_length is the default one.
  static ModelConfig parse(const std::string& json, const std::string& where,
                           const std::string& overrides = {});
};

}  // namespace foretoken
