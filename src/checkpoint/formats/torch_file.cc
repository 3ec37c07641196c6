#include "checkpoint/formats/torch_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace foretoken {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kRebuildTensor = "torch._utils _rebuild_tensor";
constexpr std::string_view kRebuildTensorV2 = "torch._utils _rebuild_tensor_v2";
constexpr std::string_view kRebuildParameter = "torch._utils _rebuild_parameter";

struct StorageType {
  std::string_view global;
  DType dtype;
};
constexpr std::array<StorageType, 11> kStorageTypes{{
    {"torch FloatStorage", DType::kF32},
    {"torch BFloat16Storage", DType::kBF16},
    {"torch HalfStorage", DType::kF16},
    {"torch DoubleStorage", DType::kF64},
    {"torch LongStorage", DType::kI64},
    {"torch IntStorage", DType::kI32},
    {"torch ShortStorage", DType::kI16},
    {"torch CharStorage", DType::kI8},
    {"torch ByteStorage", DType::kU8},
    {"torch BoolStorage", DType::kBool},
    {"torch.storage UntypedStorage", DType::kU8},
}};

// All that a file of tensors may name.
constexpr auto kCallables = [] {
  std::array<std::string_view, kStorageTypes.size() + 4> names{
      kRebuildTensor, kRebuildTensorV2, kRebuildParameter, "collections OrderedDict"};
  for (std::size_t i = 0; i < kStorageTypes.size(); ++i) names[4 + i] = kStorageTypes[i].global;
  return names;
}();

// The long integer with which files of the older format begin, as LONG1 of 10 bytes.
constexpr std::string_view kLegacyMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
constexpr std::int64_t kLegacyVersion = 1001;

const PickleValue* entry(const Pickle& pickle, const PickleValue& dict, std::string_view key) {
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue& name = pickle[dict.items[i]];
    if (name.kind == Kind::kText && name.text == key) return &pickle[dict.items[i + 1]];
  }
  return nullptr;
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

// A tuple of sizes or strides.
std::vector<std::int64_t> numbers_of(const Pickle& pickle, const PickleValue& value,
                                     const std::string& where) {
  if (value.kind != Kind::kTuple || value.items.size() > Shape::kMaxRank)
    throw Error(
        {"bad shape of a tensor", where,
         "a tuple of at most " + std::to_string(Shape::kMaxRank) + " sizes",
         value.kind == Kind::kTuple ? std::to_string(value.items.size()) : describe(value)});
  std::vector<std::int64_t> numbers;
  for (const PickleId id : value.items) {
    const PickleValue& item = pickle[id];
    if (item.kind != Kind::kInteger || item.integer < 0 || item.integer > (std::int64_t{1} << 48))
      throw Error({"bad shape of a tensor", where, "sizes and strides from 0 to 2^48",
                   item.kind == Kind::kInteger ? std::to_string(item.integer) : describe(item)});
    numbers.push_back(item.integer);
  }
  return numbers;
}

bool is_dense(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& strides) {
  std::int64_t dense = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] > 1 && strides[i] != dense) return false;
    dense *= std::max<std::int64_t>(sizes[i], 1);  // cannot overflow: extent_of() was content
  }
  return true;
}

// Elements of a tensor, and from its first element to the end of its last; nullopt: beyond any
// file.
struct Extent {
  std::uint64_t elements = 1, reach = 1;
};
std::optional<Extent> extent_of(const std::vector<std::int64_t>& sizes,
                                const std::vector<std::int64_t>& strides) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 60;
  Extent extent;
  bool is_empty = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    is_empty = is_empty || sizes[i] == 0;
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(sizes[i], 1));
    std::uint64_t step = 0;
    if (__builtin_mul_overflow(extent.elements, size, &extent.elements) ||
        __builtin_mul_overflow(size - 1, static_cast<std::uint64_t>(strides[i]), &step) ||
        __builtin_add_overflow(extent.reach, step, &extent.reach) || extent.elements > kLimit ||
        extent.reach > kLimit)
      return std::nullopt;
  }
  if (is_empty) return Extent{0, 0};
  return extent;
}

}  // namespace

// What a persistent id says: ("storage", type, key, device, elements[, view]).
struct TorchFile::StorageId {
  std::string key;
  DType dtype;
  std::uint64_t elements;
};

TorchFile::TorchFile(std::span<const std::byte> file, std::string where)
    : file_(file), where_(std::move(where)) {
  if (is_zip(file_))
    read_zip();
  else
    read_legacy();
}

void TorchFile::read_zip() {
  const auto entries = read_zip_directory(file_, where_);
  std::string folder;
  const ByteRange* pickle = nullptr;
  for (const auto& [name, range] : entries) {
    if (name == "constants.pkl" || name.ends_with("/constants.pkl"))
      throw Error({"TorchScript archive", where_, "tensors saved with torch.save", "a program"});
    if (name != "data.pkl" && !name.ends_with("/data.pkl")) continue;
    folder = name.substr(0, name.size() - std::string_view("data.pkl").size());
    pickle = &range;
  }
  if (pickle == nullptr)
    throw Error({"zip archive is not a PyTorch file", where_, "an entry data.pkl", "none"});
  if (const auto order = entries.find(folder + "byteorder"); order != entries.end()) {
    const auto text = file_.subspan(order->second.offset, order->second.bytes);
    const std::string_view found(reinterpret_cast<const char*>(text.data()), text.size());
    if (found != "little")
      throw Error({"unsupported byte order", where_, "little", std::string(found.substr(0, 16))});
  }
  const std::string data = folder + "data/";
  for (const auto& [name, range] : entries)
    if (name.starts_with(data)) storages_.emplace(name.substr(data.size()), range);
  object_ = read_pickle(file_.subspan(pickle->offset, pickle->bytes), kCallables, where_);
}

void TorchFile::read_legacy() {
  std::size_t at = 0;
  const auto next = [&] {
    Pickle pickle = read_pickle(file_.subspan(at), kCallables, where_);
    at += pickle.bytes;
    return pickle;
  };
  // PROTO and LONG1; whatever begins otherwise is not worth the pickle reader's words.
  constexpr std::size_t kMinBytes = 15;
  if (file_.size() < kMinBytes || file_[0] != std::byte{0x80})
    throw Error({"not a PyTorch file", where_, "what torch.save writes", "something else"});
  const Pickle magic = next();
  const Pickle version = next();
  if (magic[magic.root].text != kLegacyMagic || version[version.root].integer != kLegacyVersion)
    throw Error({"not a PyTorch file", where_, "what torch.save writes", "some other pickle"});
  const Pickle system = next();
  const PickleValue* little = entry(system, system[system.root], "little_endian");
  if (little == nullptr || little->kind != Kind::kBool || little->integer != 1)
    throw Error({"unsupported byte order", where_, "little-endian", "another"});
  object_ = next();

  std::map<std::string, DType> dtypes;
  for (const PickleValue& value : object_.values)
    if (value.kind == Kind::kPersistentId) {
      const StorageId id = storage_id(value);
      dtypes.emplace(id.key, id.dtype);
    }
  const Pickle keys = next();
  for (const PickleId item : keys[keys.root].items) {
    const std::string& key = keys[item].text;
    const auto dtype = dtypes.find(key);
    if (dtype == dtypes.end())
      throw Error({"storage that no tensor uses", where_, "one that the pickle names", key});
    constexpr std::size_t kCountBytes = 8;
    const std::size_t left = file_.size() - at;
    const std::uint64_t count =
        left < kCountBytes ? 0 : little_endian(file_.subspan(at, kCountBytes));
    if (left < kCountBytes || count > (left - kCountBytes) / dtype_bytes(dtype->second))
      throw Error({"truncated PyTorch file: a storage does not fit", where_ + ", storage " + key,
                   std::to_string(count) + " elements", std::to_string(left) + " bytes"});
    const std::size_t bytes = static_cast<std::size_t>(count) * dtype_bytes(dtype->second);
    storages_.emplace(key, ByteRange{at + kCountBytes, bytes});
    at += kCountBytes + bytes;
  }
}

TorchFile::StorageId TorchFile::storage_id(const PickleValue& value) const {
  const PickleValue& id = object_[value.items[0]];
  const auto fail = [&](std::string expected, std::string found) {
    throw Error({"bad reference to a storage", where_, std::move(expected), std::move(found)});
  };
  if (id.kind != Kind::kTuple || id.items.size() < 5) fail("a tuple of 5 or 6", describe(id));
  const PickleValue& type = object_[id.items[1]];
  const PickleValue& key = object_[id.items[2]];
  const PickleValue& elements = object_[id.items[4]];
  if (object_[id.items[0]].text != "storage") fail("a storage", object_[id.items[0]].text);
  const auto* known = std::ranges::find(kStorageTypes, type.text, &StorageType::global);
  if (type.kind != Kind::kGlobal || known == kStorageTypes.end())
    fail("a type of storage", describe(type));
  if (key.kind != Kind::kText) fail("a text as its key", describe(key));
  if (elements.kind != Kind::kInteger || elements.integer < 0)
    fail("a number of elements", describe(elements));
  if (id.items.size() > 5 && object_[id.items[5]].kind != Kind::kNone)
    fail("a whole storage", "a view of one, as PyTorch before 0.4 wrote them");
  return {key.text, known->dtype, static_cast<std::uint64_t>(elements.integer)};
}

bool TorchFile::is_tensor(PickleId id) const {
  const PickleValue& value = object_[id];
  return value.kind == Kind::kCall &&
         (value.text == kRebuildTensor || value.text == kRebuildTensorV2 ||
          value.text == kRebuildParameter);
}

StoredTensor TorchFile::tensor(PickleId id, const std::string& name) const {
  const std::string where = where_ + ", tensor " + name;
  const PickleValue* call = &object_[id];
  const auto arguments = [&]() -> const PickleValue& { return object_[call->items[0]]; };
  if (call->kind == Kind::kCall && call->text == kRebuildParameter && !arguments().items.empty())
    call = &object_[arguments().items[0]];
  if (call->kind != Kind::kCall || (call->text != kRebuildTensor && call->text != kRebuildTensorV2))
    throw Error({"entry is not a tensor", where, "a tensor", describe(*call)});
  const std::vector<PickleId>& given = arguments().items;
  if (given.size() < 4 || object_[given[0]].kind != Kind::kPersistentId ||
      object_[given[1]].kind != Kind::kInteger || object_[given[1]].integer < 0)
    throw Error({"bad tensor entry", where, "a storage, an offset, sizes and strides", {}});

  const StorageId storage = storage_id(object_[given[0]]);
  const auto sizes = numbers_of(object_, object_[given[2]], where);
  const auto strides = numbers_of(object_, object_[given[3]], where);
  const auto range = storages_.find(storage.key);
  if (range == storages_.end())
    throw Error({"storage is missing in the file", where, "storage " + storage.key, "none"});
  const std::size_t element_bytes = dtype_bytes(storage.dtype);
  const std::uint64_t held = range->second.bytes / element_bytes;
  const auto first = static_cast<std::uint64_t>(object_[given[1]].integer);
  const auto extent = strides.size() == sizes.size() ? extent_of(sizes, strides) : std::nullopt;
  // Fewer elements than the storage has: a tensor of repeated rows could be of any size.
  if (!extent || storage.elements > held || extent->elements > held || first > held ||
      extent->reach > held - first)
    throw Error({"tensor is not inside its storage", where,
                 Shape(sizes).str() + " from element " + std::to_string(first),
                 std::to_string(held) + " elements"});
  return {.name = name,
          .dtype = storage.dtype,
          .shape = Shape(sizes),
          .offset = range->second.offset + static_cast<std::size_t>(first) * element_bytes,
          .bytes = static_cast<std::size_t>(extent->reach) * element_bytes,
          .strides = extent->elements == 0 || is_dense(sizes, strides) ? std::vector<std::int64_t>{}
                                                                       : strides};
}

std::vector<StoredTensor> parse_torch_checkpoint(std::span<const std::byte> bytes,
                                                 const std::string& where) {
  const TorchFile file(bytes, where);
  const Pickle& object = file.object();
  const PickleValue& root = object[object.root];
  if (root.kind != Kind::kDict)
    throw Error({"not a checkpoint", where, "a dictionary of named tensors", describe(root)});
  std::vector<StoredTensor> tensors;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < root.items.size(); i += 2) {
    const PickleValue& name = object[root.items[i]];
    if (name.kind != Kind::kText)
      throw Error({"bad name of a tensor", where, "a text", describe(name)});
    if (!names.insert(name.text).second)
      throw Error({"two tensors of one name", where + ", tensor " + name.text, {}, {}});
    tensors.push_back(file.tensor(root.items[i + 1], name.text));
  }
  return tensors;
}

}  // namespace foretoken
