#include "model/config/family_table.h"

namespace foretoken::family {

// InternVL 3 and 3.5: a Qwen 2 or a Qwen 3 with a tower.
extern const Family internvl{.architecture = "InternVLForConditionalGeneration",
                             .model_type = "internvl",
                             .absent = {.tied_embeddings = true},
                             .text_type = "qwen2"};

}  // namespace foretoken::family
