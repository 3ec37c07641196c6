#pragma once
// Family: how config.json of one architecture is read: what absent keys mean and which blocks the
// layers have. The table has one line for each family, families/ one file. Adding a family is one
// file and one line. Not the decoder: it computes any combination of blocks. Constants.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/file_fields.h"
#include "model/config/model_config.h"

namespace foretoken {

struct Family {
  // What config.json means where it leaves a key out: the defaults of Hugging Face.
  struct Absent {
    int heads = 0;           // 0: must be there
    int intermediate = 0;    // 0: must be there
    std::int64_t vocab = 0;  // 0: must be there
    int kv_heads = 0;        // 0: as many as heads
    int head_dim = 0;        // 0: hidden / heads
    std::int64_t max_position = 2048;
    double rope_theta = 10000.0;
    double rms_eps = 1e-6;
    bool tied_embeddings = false;
  };

  std::string_view architecture;  // "LlamaForCausalLM"
  std::string_view model_type;    // "llama"
  Absent absent = {};
  // Keys of uncommon features that read() takes care of; a model of another family is refused where
  // one of them is switched on.
  std::span<const std::string_view> features = {};
  // The blocks of the layers. Only the sizes of `sizes` are known.
  Blocks (*read)(const FileFields& fields, const ModelConfig& sizes) = nullptr;
  // Of a model that sees images, too: only the text in it is served. Its config is "text_config",
  // of a family of its own, which model_type there names; this one where it names none. All else
  // but names and tied_embeddings is of that family, then. With read() the text is a family of no
  // other name, and older configs have its keys beside those of images.
  std::string_view text_type = {};

  bool has_states = false;  // of layers that keep one, which read() finds in "layer_types"
  // Sizes that are called otherwise, or follow from others.
  void (*resize)(const FileFields& fields, ModelConfig& sizes) = nullptr;

  // Refuses what a text that stands in a model with towers computes otherwise than alone.
  void (*check_text)(const FileFields& text, const ModelConfig& config) = nullptr;

  bool has_towers() const { return !text_type.empty(); }

  // The architecture without what it is for: "Llama".
  std::string_view name() const { return architecture.substr(0, architecture.find("For")); }
};

// All families; errors list them in this order.
std::span<const Family* const> families();

// The family of a config. Throws Error where there is none.
const Family& family_of(const FileFields& fields);

// The family without towers that a model_type names; null where there is none.
const Family* text_family_of_type(std::string_view type);

}  // namespace foretoken
