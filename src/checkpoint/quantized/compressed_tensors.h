#pragma once
// The description that compressed-tensors (llm-compressor) writes of a quantized checkpoint, read
// into a StoredQuantization. Layers that it does not name are told by their tensors: a matrix of
// floats is one. A pure function; throws Error naming what cannot be read.

#include "base/file_fields.h"
#include "checkpoint/quantized/stored_quantization.h"

namespace foretoken {

StoredQuantization parse_compressed_tensors(const FileFields& fields);

}  // namespace foretoken
