#pragma once
// What the configs of several families have in common, for the files in families/. Throws Error
// naming the key. Pure functions.

#include <functional>
#include <string_view>
#include <vector>

#include "backend/activation.h"
#include "base/file_fields.h"
#include "model/config/blocks.h"
#include "model/config/model_config.h"

namespace foretoken {

// A flag that is off where the key is absent.
bool is_on(const FileFields& fields, std::string_view key);

// Which layers slide: those that "layer_types" names, or where `slides` says so.
std::vector<bool> sliding_layers(const FileFields& fields, int layers,
                                 const std::function<bool(int layer)>& slides);

// A window per layer: of "sliding_window" (4096 where the key is absent) in the layers that
// "layer_types" names, or where `slides` says so; empty where it is null.
std::vector<int> sliding_windows(const FileFields& fields, int layers,
                                 const std::function<bool(int layer)>& slides);

// The same of families that slide in all layers, whatever "layer_types" says: it has to say that.
std::vector<int> equal_windows(const FileFields& fields, int layers);

// The rotary settings per layer where those that slide, by the same keys, have local ones.
std::vector<LayerRope> local_ropes(const FileFields& fields, int layers,
                                   const std::function<bool(int layer)>& slides);

// The same where layers are rotated or not: 1 in "no_rope_layers" is rotated. Without that list
// every n-th layer is not, by "no_rope_layer_interval".
std::vector<LayerRope> listed_ropes(const FileFields& fields, int layers);

// The windows of Qwen: in the layers from "max_window_layers" on, where "use_sliding_window" is on.
std::vector<int> upper_windows(const FileFields& fields, int layers, std::int64_t absent = 28);

// A number that scales something and is not 0; `absent` where the key is.
double factor(const FileFields& fields, std::string_view key, double absent);

// A number above 0; `absent` where the key is.
double above_zero(const FileFields& fields, std::string_view key, double absent);

// The cap of a soft cap; 0, none, where the key is null or 0.
double cap(const FileFields& fields, std::string_view key, double absent);

// The activation of that name; `absent` where the key is.
Activation activation(const FileFields& fields, std::string_view key, std::string_view absent);

// The elements of a head that are rotated, by "partial_rotary_factor"; `absent` where the key is.
int rotary_dim(const FileFields& fields, int head_dim, double absent = 1.0);

// Layers of latent attention by their usual keys; `absent`: what absent keys mean.
Blocks latent_layers(const FileFields& fields, const ModelConfig& sizes,
                     const LatentBlocks& absent);

// Heads are as wide as the stream divides into; refused where that leaves a rest or an odd width.
void divide_into_heads(const FileFields& fields, ModelConfig& sizes);

// Refuses rotations that change magnitudes, of models that norm queries and keys behind them: a norm
// before them would not take the change back.
void check_magnitude(const FileFields& fields);

// Norms behind the blocks, and none before.
LayerNorms norms_behind();

}  // namespace foretoken
