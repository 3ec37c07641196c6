#include "model/config/family_fields.h"
#include "model/config/family_table.h"

namespace foretoken::family {
namespace {

// A Mistral that stands alone may slide in some layers.
void check_windows(const FileFields& text, const ModelConfig& config) {
  if (!config.layer_window.empty()) equal_windows(text, config.layers);
}

}  // namespace

// Mistral Small and Ministral 3: a Mistral or a Ministral 3 with a tower.
extern const Family mistral3{.architecture = "Mistral3ForConditionalGeneration",
                             .model_type = "mistral3",
                             .absent = {.tied_embeddings = true},
                             .text_type = "mistral",
                             .check_text = check_windows};

}  // namespace foretoken::family
