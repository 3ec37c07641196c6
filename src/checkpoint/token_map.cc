#include "checkpoint/token_map.h"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/json_text.h"
#include "checkpoint/formats/mapped_file.h"
#include "checkpoint/formats/torch_file.h"

namespace foretoken {
namespace {

constexpr const char* kExpected = "a list or a one-dimensional tensor of token ids";

[[noreturn]] void refuse_map(const std::string& path, std::string found) {
  throw Error({"not a token map", path, kExpected, std::move(found)});
}

template <typename Integer>
std::vector<std::int64_t> integers_at(const std::byte* data, std::size_t count,
                                      std::int64_t stride) {
  std::vector<std::int64_t> ids(count);
  for (std::size_t i = 0; i < count; ++i) {
    Integer value;  // the file aligns nothing
    std::memcpy(&value, data + i * static_cast<std::size_t>(stride) * sizeof value, sizeof value);
    ids[i] = value;
  }
  return ids;
}

std::vector<std::int64_t> ids_of_tensor(const StoredTensor& tensor, const MappedFile& file) {
  if (tensor.shape.rank() != 1) refuse_map(file.path(), "a tensor of shape " + tensor.shape.str());
  const auto count = static_cast<std::size_t>(tensor.shape[0]);
  const std::int64_t stride = tensor.strides.empty() ? 1 : tensor.strides[0];
  const std::byte* data = file.bytes().data() + tensor.offset;
  if (tensor.dtype == DType::kI64) return integers_at<std::int64_t>(data, count, stride);
  if (tensor.dtype == DType::kI32) return integers_at<std::int32_t>(data, count, stride);
  refuse_map(file.path(), "a tensor of " + std::string(dtype_name(tensor.dtype)));
}

std::vector<std::int64_t> ids_of_torch(const MappedFile& file) {
  const TorchFile saved(file.bytes(), file.path());
  const Pickle& object = saved.object();
  if (saved.is_tensor(object.root))
    return ids_of_tensor(saved.tensor(object.root, "token map"), file);
  const PickleValue& list = object[object.root];
  if (list.kind != PickleValue::Kind::kList && list.kind != PickleValue::Kind::kTuple)
    refuse_map(file.path(), describe(list));
  std::vector<std::int64_t> ids;
  ids.reserve(list.items.size());
  for (const PickleId id : list.items) {
    if (object[id].kind != PickleValue::Kind::kInteger)
      refuse_map(file.path(), "a list with " + describe(object[id]));
    ids.push_back(object[id].integer);
  }
  return ids;
}

std::vector<std::int64_t> ids_of_json(const MappedFile& file) {
  const auto bytes = file.bytes();
  const auto value =
      read_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.path());
  if (!value.is_array()) refuse_map(file.path(), "other JSON");
  std::vector<std::int64_t> ids;
  for (const auto& item : value.get_array()) {
    if (!item.is_int64()) refuse_map(file.path(), "a list with other JSON in it");
    ids.push_back(item.get_int64());
  }
  return ids;
}

}  // namespace

std::vector<Token> read_token_map(const std::string& path, std::int64_t vocab) {
  const MappedFile file(path);
  const bool is_json =
      !file.bytes().empty() && (file.bytes()[0] == std::byte{'['} || path.ends_with(".json"));
  const auto ids = is_json ? ids_of_json(file) : ids_of_torch(file);
  file.check();
  if (ids.empty()) refuse_map(path, "an empty one");
  std::vector<bool> is_seen(static_cast<std::size_t>(vocab), false);
  std::vector<Token> tokens;
  tokens.reserve(ids.size());
  for (const std::int64_t id : ids) {
    const auto where = [&] { return path + ", entry " + std::to_string(tokens.size()); };
    if (id < 0 || id >= vocab)
      throw Error({"token map names a token that the model does not have", where(),
                   "ids from 0 to " + std::to_string(vocab - 1), std::to_string(id)});
    if (is_seen[static_cast<std::size_t>(id)])
      throw Error({"token map names a token twice", where(), "each id once", std::to_string(id)});
    is_seen[static_cast<std::size_t>(id)] = true;
    tokens.push_back(static_cast<Token>(id));
  }
  return tokens;
}

}  // namespace foretoken
