#include <array>
#include <string>

#include "base/error.h"
#include "checkpoint/formats/gguf/gguf_architecture.h"
#include "checkpoint/formats/gguf/gguf_family_keys.h"
#include "checkpoint/formats/gguf/gguf_mixed_layers.h"
#include "checkpoint/formats/gguf/gguf_names.h"
#include "checkpoint/formats/gguf/gguf_states.h"

namespace foretoken {
namespace {

void add_qwen3_next(const GgufModel& model, boost::json::object& config) {
  add_gguf_qwen3_next(model, config);
  add_gguf_dense_layers(model, config);
}

constexpr auto kArchitectures = std::to_array<GgufArchitecture>({
    {.name = "llama",
     .architecture = "MixtralForCausalLM",
     .model_type = "mixtral",
     .has_experts = true,
     .pairs_neighbours = true,
     .layer_names = gguf_names::kMixtralNames,
     .numbers = gguf_names::kExpertNumbers},
    {.name = "llama",
     .architecture = "LlamaForCausalLM",
     .model_type = "llama",
     .pairs_neighbours = true},
    {.name = "llama4",
     .architecture = "Llama4ForCausalLM",
     .model_type = "llama4_text",
     .has_experts = true,
     .layer_names = gguf_names::kLlama4Names,
     .numbers = gguf_names::kLlama4Numbers,
     .add = add_gguf_llama4},
    {.name = "mistral3",
     .architecture = "MistralForCausalLM",
     .model_type = "mistral",
     .pairs_neighbours = true,
     .add = add_gguf_mistral3},
    {.name = "qwen2", .architecture = "Qwen2ForCausalLM", .model_type = "qwen2"},
    {.name = "qwen3", .architecture = "Qwen3ForCausalLM", .model_type = "qwen3"},
    {.name = "command-r",
     .architecture = "CohereForCausalLM",
     .model_type = "cohere",
     .centres = true,
     .numbers = gguf_names::kCohereNumbers,
     .add = add_gguf_cohere},
    {.name = "cohere2",
     .architecture = "Cohere2ForCausalLM",
     .model_type = "cohere2",
     .centres = true,
     .numbers = gguf_names::kCohereNumbers,
     .add = add_gguf_cohere},
    // What the text has beside these is of images.
    {.name = "qwen2vl", .architecture = "Qwen2ForCausalLM", .model_type = "qwen2"},
    {.name = "qwen3vl", .architecture = "Qwen3ForCausalLM", .model_type = "qwen3"},
    {.name = "qwen3vlmoe",
     .architecture = "Qwen3MoeForCausalLM",
     .model_type = "qwen3_moe",
     .has_experts = true,
     .numbers = gguf_names::kExpertNumbers,
     .add = add_gguf_qwen3_moe},
    {.name = "seed_oss",
     .architecture = "SeedOssForCausalLM",
     .model_type = "seed_oss",
     .layer_names = gguf_names::kPostNormNames,
     .add = add_gguf_seed_oss},
    {.name = "ernie4_5",
     .architecture = "Ernie4_5ForCausalLM",
     .model_type = "ernie4_5",
     .add = add_gguf_ernie4_5},
    {.name = "exaone4",
     .architecture = "Exaone4ForCausalLM",
     .model_type = "exaone4",
     .layer_names = gguf_names::kSandwichNames,
     .add = add_gguf_exaone4},
    {.name = "hunyuan-dense",
     .architecture = "HunYuanDenseV1ForCausalLM",
     .model_type = "hunyuan_v1_dense"},
    {.name = "smollm3",
     .architecture = "SmolLM3ForCausalLM",
     .model_type = "smollm3",
     .pairs_neighbours = true},
    {.name = "granite",
     .architecture = "GraniteForCausalLM",
     .model_type = "granite",
     .pairs_neighbours = true,
     .numbers = gguf_names::kGraniteNumbers},
    {.name = "gemma2",
     .architecture = "Gemma2ForCausalLM",
     .model_type = "gemma2",
     .norm_offset = 1.0F,
     .layer_names = gguf_names::kSandwichNames,
     .numbers = gguf_names::kGemmaNumbers,
     .add = add_gguf_gemma2},
    {.name = "gemma3",
     .architecture = "Gemma3ForCausalLM",
     .model_type = "gemma3_text",
     .norm_offset = 1.0F,
     .layer_names = gguf_names::kSandwichNames,
     .numbers = gguf_names::kGemmaNumbers,
     .add = add_gguf_gemma3},
    {.name = "gemma4",
     .architecture = "Gemma4ForCausalLM",
     .model_type = "gemma4_text",
     .layers_differ = true,
     .layer_names = kGgufMixedNames,
     .numbers = kGgufMixedNumbers,
     .add = add_gguf_mixed_layers},
    {.name = "gemma4",
     .architecture = "Gemma4ForCausalLM",
     .model_type = "gemma4_text",
     .has_experts = true,
     .layers_differ = true,
     .layer_names = kGgufMixedNames,
     .numbers = kGgufMixedNumbers,
     .add = add_gguf_mixed_layers},
    {.name = "gemma4-assistant",
     .architecture = "Gemma4AssistantForCausalLM",
     .model_type = "gemma4_assistant",
     .layers_differ = true,
     .is_head = true,
     .layer_names = kGgufMixedNames,
     .numbers = kGgufMixedNumbers,
     .add = add_gguf_gemma4_assistant},
    {.name = "phi3",
     .architecture = "Phi3ForCausalLM",
     .model_type = "phi3",
     .layer_names = gguf_names::kFusedNames,
     .add = add_gguf_phi3},
    {.name = "olmo2",
     .architecture = "Olmo2ForCausalLM",
     .model_type = "olmo2",
     .layer_names = gguf_names::kSandwichNames,
     .add = add_gguf_olmo2},
    {.name = "glm4",
     .architecture = "Glm4ForCausalLM",
     .model_type = "glm4",
     .layer_names = gguf_names::kGlm4Names,
     .add = add_gguf_rotated},
    {.name = "qwen2moe",
     .architecture = "Qwen2MoeForCausalLM",
     .model_type = "qwen2_moe",
     .has_experts = true,
     .layer_names = gguf_names::kQwen2MoeNames,
     .numbers = gguf_names::kExpertNumbers,
     .add = add_gguf_dense_layers},
    {.name = "qwen3moe",
     .architecture = "Qwen3MoeForCausalLM",
     .model_type = "qwen3_moe",
     .has_experts = true,
     .numbers = gguf_names::kExpertNumbers,
     .add = add_gguf_qwen3_moe},
    {.name = "olmoe",
     .architecture = "OlmoeForCausalLM",
     .model_type = "olmoe",
     .has_experts = true,
     .numbers = gguf_names::kExpertNumbers},
    {.name = "glm4moe",
     .architecture = "Glm4MoeForCausalLM",
     .model_type = "glm4_moe",
     .has_experts = true,
     .layer_names = gguf_names::kPostNormNames,
     .numbers = gguf_names::kExpertNumbers,
     .add = add_gguf_glm4_moe},
    {.name = "gpt-oss",
     .architecture = "GptOssForCausalLM",
     .model_type = "gpt_oss",
     .has_experts = true,
     .layer_names = gguf_names::kGptOssNames,
     .numbers = gguf_names::kExpertNumbers,
     .add = add_gguf_gpt_oss},
    {.name = "deepseek2",
     .architecture = "DeepseekV2ForCausalLM",
     .model_type = "deepseek_v2",
     .has_experts = true,
     .layer_names = gguf_names::kLatentNames,
     .numbers = gguf_names::kExpertNumbers,
     .add = add_gguf_latent},
    {.name = "qwen3next",
     .architecture = "Qwen3NextForCausalLM",
     .model_type = "qwen3_next",
     .has_experts = true,
     .norm_offset = 1.0F,
     .plain_norm = "linear_attn.norm.weight",
     .layer_names = kGgufDeltaNames,
     .numbers = gguf_names::kExpertNumbers,
     .add = add_qwen3_next},
    {.name = "qwen35",
     .architecture = "Qwen3_5ForCausalLM",
     .model_type = "qwen3_5_text",
     .norm_offset = 1.0F,
     .plain_norm = "linear_attn.norm.weight",
     .layer_names = kGgufDeltaNames,
     .add = add_gguf_qwen3_5},
    {.name = "qwen35moe",
     .architecture = "Qwen3_5MoeForCausalLM",
     .model_type = "qwen3_5_moe_text",
     .has_experts = true,
     .norm_offset = 1.0F,
     .plain_norm = "linear_attn.norm.weight",
     .layer_names = kGgufDeltaNames,
     .numbers = gguf_names::kExpertNumbers,
     .add = add_gguf_qwen3_5},
    {.name = "lfm2",
     .architecture = "Lfm2ForCausalLM",
     .model_type = "lfm2",
     .layer_names = kGgufConvolutionNames,
     .add = add_gguf_lfm2},
    {.name = "lfm2moe",
     .architecture = "Lfm2MoeForCausalLM",
     .model_type = "lfm2_moe",
     .has_experts = true,
     .layer_names = kGgufConvolutionNames,
     .numbers = gguf_names::kExpertNumbers,
     .add = add_gguf_lfm2_moe},
    {.name = "granitehybrid",
     .architecture = "GraniteMoeHybridForCausalLM",
     .model_type = "granitemoehybrid",
     .has_experts = true,
     .pairs_neighbours = true,
     .layer_names = kGgufMambaNames,
     .numbers = gguf_names::kGraniteNumbers,
     .add = add_gguf_granite_hybrid},
    {.name = "granitehybrid",
     .architecture = "GraniteMoeHybridForCausalLM",
     .model_type = "granitemoehybrid",
     .pairs_neighbours = true,
     .layer_names = kGgufMambaNames,
     .numbers = gguf_names::kGraniteNumbers,
     .add = add_gguf_granite_hybrid},
});

// Files that belong to a model, as they name themselves, and what they are.
void refuse_other_files(const GgufMetadata& metadata) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"adapter", "adapter: changes of another model's weights (LoRA)"},
      {"mmproj", "mmproj: what turns images or sounds into another model's tokens"},
      {"imatrix", "imatrix: measurements for quantizing another model"},
  };
  const std::string key = "general.type";
  const std::string type = metadata.text(key).value_or("model");
  for (const auto& [name, what] : kOthers)
    if (type == name) metadata.refuse(key, "model", std::string(what));
}

}  // namespace

const GgufArchitecture& gguf_architecture(const GgufMetadata& metadata) {
  refuse_other_files(metadata);
  const auto name = metadata.text("general.architecture");
  if (!name) metadata.refuse_missing("general.architecture");
  const bool has_experts = metadata.integer(*name + ".expert_count").value_or(0) > 0;
  std::string supported;
  std::string_view before;  // rows of one name are neighbours
  const GgufArchitecture* without = nullptr;
  for (const GgufArchitecture& architecture : kArchitectures) {
    if (*name == architecture.name) {
      if (architecture.has_experts == has_experts) return architecture;
      without = &architecture;
    }
    if (architecture.name != before)
      supported += (supported.empty() ? "" : ", ") + std::string(architecture.name);
    before = architecture.name;
  }
  if (without != nullptr && !without->has_experts)
    throw Error({"the model has experts, and they are not supported",
                 metadata.where() + ", key " + *name + ".expert_count",
                 "0",
                 {}});
  if (without != nullptr) metadata.refuse_missing(*name + ".expert_count");
  throw Error({"this model architecture is not supported",
               metadata.where() + ", key general.architecture", supported, *name});
}

}  // namespace foretoken
