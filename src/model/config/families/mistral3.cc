#include "model/config/family_table.h"

namespace foretoken::family {

// Mistral Small and Ministral 3: a Mistral or a Ministral 3 with a tower.
extern const Family mistral3{.architecture = "Mistral3ForConditionalGeneration",
                             .model_type = "mistral3",
                             .absent = {.tied_embeddings = true},
                             .text_type = "mistral"};

}  // namespace foretoken::family
