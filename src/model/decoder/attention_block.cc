#include "model/decoder/attention_block.h"

#include "model/decoder/attention.h"
#include "model/decoder/latent_attention.h"
#include "model/decoder/recurrent_block.h"

namespace foretoken {

std::unique_ptr<AttentionBlock> make_attention(WeightReader& read, const ModelConfig& config,
                                               const std::string& prefix, std::int64_t in_width,
                                               int layer) {
  if (config.recurrent.are_in(layer))
    return std::make_unique<RecurrentBlock>(read, config, prefix, in_width);
  if (config.latent.is_on())
    return std::make_unique<LatentAttention>(read, config, prefix, in_width);
  return std::make_unique<Attention>(read, config, prefix, in_width, layer);
}

}  // namespace foretoken
