#pragma once
// What each tool that quantizes checkpoints writes about them (`quantization_config`), by
// `quant_method`; compressed-tensors has a file of its own. Pure functions; each throws Error
// naming what cannot be read. For StoredQuantization::parse only, which fills in the method.

#include "base/file_fields.h"
#include "checkpoint/quantized/stored_quantization.h"

namespace foretoken {

StoredQuantization parse_awq(const FileFields& fields);
StoredQuantization parse_gptq(const FileFields& fields);
// AutoRound packs its codes as GPTQ or AWQ do.
StoredQuantization parse_auto_round(const FileFields& fields);
// One scale a matrix or a row, or scales of blocks; FBGEMM writes the same tensors.
StoredQuantization parse_fp8(const FileFields& fields);
// NVIDIA's Model Optimizer, of which FP8 with one scale a matrix or a row is read.
StoredQuantization parse_modelopt(const FileFields& fields);
// SGLang's own name for int8 weights by row.
StoredQuantization parse_w8a8(const FileFields& fields);

}  // namespace foretoken
