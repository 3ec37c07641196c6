#pragma once
// The header of a safetensors file: 8 bytes of length, then JSON that names each tensor's dtype,
// shape and byte range. Not the loader: a pure function of the file's bytes, so that hostile bytes
// can be tried on it. Every fault is an Error naming the file, the tensor and the reason.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/formats/stored_tensor.h"

namespace foretoken {

// `file`: all bytes of the file; `where` names it. The tensors in the order of their offsets; they
// cover the data part exactly, without gap or overlap.
std::vector<StoredTensor> parse_safetensors(std::span<const std::byte> file,
                                            const std::string& where);

}  // namespace foretoken
