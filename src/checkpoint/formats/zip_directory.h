#pragma once
// The directory of a zip archive as torch.save writes it: entries stored without compression, with
// 64-bit extensions. Not an unpacker. A pure function of the bytes; an entry's bytes are inside the
// file. Faults are Errors.

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace foretoken {

struct ByteRange {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

// Starts with the mark of a zip archive.
bool is_zip(std::span<const std::byte> file);

// Every entry's name and where its bytes are. `where` names the file in errors.
std::map<std::string, ByteRange> read_zip_directory(std::span<const std::byte> file,
                                                    const std::string& where);

}  // namespace foretoken
