#pragma once
// WeightReader: takes a decoder's tensors out of a WeightSource by name, checks their shapes, and
// packs or converts them to the serving dtype. It remembers what was taken, so that finish() can
// name what nobody asked for. Used while a model is built, by one thread.

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/ops/load_ops.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/quantized/stored_quantization.h"
#include "model/config/quantization.h"

namespace foretoken {

// One matrix [rows, in_width] of a packed stack: `name` without ".weight" / ".bias".
struct MatrixPart {
  std::string name;
  std::int64_t rows = 0;
};

enum class Bias { kNone, kRequired };
constexpr Bias bias_if(bool is_present) { return is_present ? Bias::kRequired : Bias::kNone; }

// What a matrix is for, which decides how a quantization keeps it.
enum class MatrixRole { kLayer, kHead };

class WeightReader {
 public:
  WeightReader(LoadOps& ops, const WeightSource& source, DType dtype,
               const Quantization& quantization = {},
               const std::optional<StoredQuantization>& stored = {});

  // The parts stacked along the output dimension. Throws Error naming a tensor that is missing,
  // misshapen or not of floats. Where the source keeps packed matrices, they come from there.
  std::unique_ptr<PackedLinear> linear(const std::vector<MatrixPart>& parts, std::int64_t in_width,
                                       Bias bias, MatrixRole role = MatrixRole::kLayer);

  // A matrix [rows, width] that is looked up by row and never multiplied with.
  Tensor rows(const MatrixPart& part, std::int64_t width);

  // A vector, float32 [width] in backend memory, rounded to the serving dtype.
  Tensor vector(const std::string& name, std::int64_t width);

  // The checkpoint may hold this tensor, and it is not needed.
  void skip(const std::string& name);
  void skip_under(const std::string& prefix);  // all tensors whose names begin so

  // Warns once about tensors that were neither taken nor skipped, and releases them. Throws Error
  // for one that belongs to a matrix of a quantized checkpoint: the matrix was misunderstood.
  void finish();

  std::size_t packed_bytes() const { return packed_bytes_; }

 private:
  // What is packed from the tensors of a checkpoint, and how.
  struct Making {
    WeightFormat format;
    std::vector<std::string> tensors = {};
  };

  Tensor take(const std::string& name, const Shape& shape);
  void refuse_if_part(const std::string& tensor) const;
  std::unique_ptr<PackedLinear> pack(const std::vector<MatrixPart>& parts, std::int64_t in_width,
                                     Bias bias, Making& making);

  LoadOps& ops_;
  const WeightSource& source_;
  DType dtype_;
  Quantization quantization_;
  std::optional<StoredQuantization> stored_;
  std::set<std::string> known_;
  std::set<std::string> matrices_;  // that were taken or skipped
  std::size_t packed_bytes_ = 0;
};

}  // namespace foretoken
