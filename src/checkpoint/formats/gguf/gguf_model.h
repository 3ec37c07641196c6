#pragma once
// GgufModel: a GGUF file, or all parts of one that was split, mapped and checked: metadata, and the
// tensors as they are stored. Not what names and keys mean. Immutable; thread-safe.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/formats/gguf/gguf_header.h"
#include "checkpoint/formats/mapped_file.h"

namespace foretoken {

// A stored tensor: rows of blocks, one after the other, in the mapped file. A vector is one row.
struct GgufBlocks {
  const GgufTypeInfo* type = nullptr;
  Shape shape;
  const std::byte* data = nullptr;
  const MappedFile* file = nullptr;  // that it lies in
  std::size_t offset = 0;            // there

  std::int64_t width() const { return shape[shape.rank() - 1]; }
  std::int64_t rows() const { return shape.elements() / width(); }
  std::size_t row_bytes() const { return static_cast<std::size_t>(type->bytes_of(width())); }
  std::size_t bytes() const { return static_cast<std::size_t>(rows()) * row_bytes(); }
  const std::byte* row(std::int64_t i) const {
    return data + static_cast<std::size_t>(i) * row_bytes();
  }
};

class GgufModel {
 public:
  // path: a file; any part of a split model stands for all. Throws Error.
  explicit GgufModel(const std::string& path);

  const GgufMetadata& metadata() const { return parts_.front().header.metadata; }
  const std::map<std::string, GgufBlocks>& tensors() const { return tensors_; }
  const GgufBlocks* find(const std::string& name) const;  // null: there is none
  // "attn_q.weight" of the first layer that has it: layers need not be alike. Null: none has.
  const GgufBlocks* find_in_layers(const std::string& name) const;
  // "attention.key_length" as the architecture's own key, and the integer that it holds.
  std::string own_key(std::string_view name) const;
  std::optional<std::int64_t> size(std::string_view name) const;
  const std::string& path() const { return path_; }  // of the first part
  std::size_t parts() const { return parts_.size(); }

  // Throws Error when a file is not what it was when it was mapped.
  void check() const;

 private:
  struct Part {
    std::unique_ptr<MappedFile> file;
    GgufHeader header;
  };

  void open(const std::string& path);
  void check_parts(std::size_t count) const;

  std::string path_;
  std::vector<Part> parts_;
  std::map<std::string, GgufBlocks> tensors_;
};

}  // namespace foretoken
