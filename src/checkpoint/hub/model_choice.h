#pragma once
// ModelChoice: which files of a repository make up the model that a user wants. The same rule says
// what to download and what of the cache to open. Names only; pure functions.
//
// The weights are, in this order, safetensors, PyTorch's pytorch_model*.bin, GGUF; with a
// quantization, GGUF only. Beside weights that are not GGUF go the configurations and tokenizers of
// the top folder. All else (original/, onnx/, other formats) stays where it is.

#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

struct ModelChoice {
  std::vector<std::string> files;  // ascending
  std::string gguf;                // the first part of a GGUF model; empty: the folder is the model
};

// The quantization of GGUF repositories when none is asked for and they hold several.
inline constexpr std::string_view kUsualQuant = "Q4_K_M";

// names: of all files, inside the repository. quant: in any case; empty: the usual one. Throws Error
// naming what there is.
ModelChoice choose_model(const std::string& id, const std::vector<std::string>& names,
                         const std::string& quant);

// "Q4_K_M" of "model-Q4_K_M-00001-of-00002.gguf", as those who publish such files name them; empty:
// the name tells none.
std::string quant_of(std::string_view name);

}  // namespace foretoken
