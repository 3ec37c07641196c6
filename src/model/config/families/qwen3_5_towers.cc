#include "model/config/family_table.h"

namespace foretoken::family {

extern const Family qwen3_5_towers{.architecture = "Qwen3_5ForConditionalGeneration",
                                   .model_type = "qwen3_5",
                                   .text_type = "qwen3_5_text"};

}  // namespace foretoken::family
