#include "model/config/family_table.h"

namespace foretoken::family {

// An LFM2 with a tower.
extern const Family lfm2_vl{.architecture = "Lfm2VlForConditionalGeneration",
                            .model_type = "lfm2_vl",
                            .absent = {.tied_embeddings = true},
                            .text_type = "lfm2"};

}  // namespace foretoken::family
