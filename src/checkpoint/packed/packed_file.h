#pragma once
// PackedFile: packed matrices in a file: a header, the bytes of each matrix, and a directory with a
// checksum for every piece of them. Whatever a file holds, reading it is safe; bytes that are not
// those that were written are never taken for them. Not mapped but read: what is computed with
// later must not change with the file. Immutable; reading is thread-safe.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/weight_format.h"

namespace foretoken {

// What is known of a matrix beside its bytes.
struct PackedMatrix {
  std::string name;                       // whatever tells it apart from all others
  WeightFormat format = {};               // in which it is kept
  std::vector<std::string> tensors = {};  // of the checkpoint, that it was made of
};

class PackedFile {
 public:
  // Null where there is no such file. Throws Error when it is none of this version, or damaged.
  static std::unique_ptr<PackedFile> open(const std::string& path);
  ~PackedFile();
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;

  const std::string& state() const { return state_; }  // as it was written

  // Null: it does not hold that matrix.
  const PackedMatrix* find(const std::string& name) const;
  // Bytes of one of its images, from a whole number of pieces (LoadOps::kImagePiece) on, one piece or
  // the last. False where there are none, or not those that were written.
  bool read(const PackedMatrix& matrix, std::size_t image, std::size_t offset,
            std::span<std::byte> to) const;

 private:
  struct Image {
    std::uint64_t offset = 0, bytes = 0;
    std::vector<std::uint64_t> sums = {};  // of its pieces
  };
  struct Entry {
    PackedMatrix matrix;
    std::vector<Image> images = {};
  };

  explicit PackedFile(int descriptor) : descriptor_(descriptor) {}
  void read_directory(const std::string& path);
  Image image_of(const std::string& text, std::uint64_t end) const;

  int descriptor_;
  std::string state_;
  std::map<std::string, Entry> entries_;
};

struct UnwrittenMatrix {
  PackedMatrix matrix;
  std::vector<std::span<const std::byte>> images = {};
};

// Puts a new file in the place of the old one, at once: readers see one of the two. `state` says
// what the matrices were made of. False where another process is just writing it. Throws Error; the
// old file is then as it was.
bool write_packed_file(const std::string& path, const std::string& state,
                       std::span<const UnwrittenMatrix> matrices);

// "8 bits, scales f32, input rounded": the same for the same format only.
std::string format_text(const WeightFormat& format);

}  // namespace foretoken
