#pragma once
// PackedCache: keeps the packed matrices of one model in a file (packed_file.h), so that the next
// start reads them instead of making them of the checkpoint. A file that was made of a checkpoint
// in another state, or that is damaged, is not used but replaced. Whatever is wrong with it costs a
// warning and the usual load. Used while a model is loaded, by one thread; the backend may read
// with several.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/ops/load_ops.h"
#include "checkpoint/packed/packed_file.h"

namespace foretoken {

class PackedCache {
 public:
  // state: says what the weights are made of, now; called again before they are written.
  PackedCache(std::string path, std::function<std::string()> state);

  // The matrix that was kept under this name, and the tensors that it was made of; null: there is
  // none that can be used. shape.format is filled in.
  std::unique_ptr<PackedLinear> take(LoadOps& ops, const std::string& name, LinearShape shape,
                                     std::vector<std::string>& tensors);

  // Will be written. The matrix lives until then.
  void keep(const std::string& name, const WeightFormat& format,
            const std::vector<std::string>& tensors, const PackedLinear& packed);

  // The model is complete: writes the file, where anything was not in it. Does not throw.
  void finish();

 private:
  struct Kept {
    PackedMatrix matrix;
    const PackedLinear* packed;
  };

  std::string path_;
  std::function<std::string()> make_state_;
  std::string state_;
  std::unique_ptr<PackedFile> file_;  // null: nothing can be read, or nothing more
  std::vector<Kept> kept_;            // all of the model
  bool is_changed_ = false;           // some of it is not in the file
  std::size_t bytes_ = 0;
};

// The cache of a checkpoint folder. wish: all else that decides what its weights become; part: of
// the program, that they are loaded for. Files are told apart by folder, part and wish, so that a
// checkpoint that changes takes the place of what it was. Null, and a warning, where the
// checkpoint's state cannot be read.
std::unique_ptr<PackedCache> open_packed_cache(const std::string& cache_folder,
                                               const std::string& folder, const std::string& part,
                                               const std::string& wish);

// The files of a checkpoint: names, sizes, times, and bytes from several places. Another text where
// anything was written to one of them. Throws Error where they cannot be read.
std::string checkpoint_state(const std::string& path);

}  // namespace foretoken
