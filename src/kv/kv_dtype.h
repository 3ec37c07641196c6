#pragma once
// The names of --kv-cache-dtype: in what type keys and values are kept. Pure functions.

#include <optional>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace foretoken {

// All that are understood, "auto" first: the type of the weights.
std::vector<std::string_view> kv_dtype_names();
// Those of SGLang's that are not.
std::vector<std::string_view> unread_kv_dtypes();

// nullopt: "auto". `where` names the flag in the Error for a name that is none.
std::optional<DType> kv_dtype_named(std::string_view name, std::string_view where);

// For the log: codes by their names above, floats by dtype_name.
std::string_view kv_dtype_name(DType dtype);

}  // namespace foretoken
