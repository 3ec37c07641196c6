#pragma once
// WeightReader: takes a decoder's tensors out of a WeightSource by name, checks their shapes, and
// packs or converts them to the serving dtype. It remembers what was taken, so that finish() can
// name what nobody asked for. Used while a model is built, by one thread.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/ops/load_ops.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/quantized/gguf_codes.h"
#include "checkpoint/quantized/stored_quantization.h"
#include "model/config/quantization.h"
#include "tensor/buffer.h"

namespace foretoken {

// One matrix [rows, in_width] of a packed stack: `name` without ".weight" / ".bias".
struct MatrixPart {
  std::string name;
  std::int64_t rows = 0;
  // Of a matrix with more rows than these: which are the part's, and how many it has.
  std::int64_t first = 0, stored_rows = 0;
};

// A matrix of the checkpoint as the parts that lie in it one after the other.
std::vector<MatrixPart> parts_of_fused(const std::string& name,
                                       const std::vector<std::int64_t>& rows);

// A matrix of the checkpoint as floats of any type; of codes, those that they stand for.
struct FloatMatrix {
  Buffer made;  // empty: they are the checkpoint's
  Tensor view;

  Tensor rows(std::int64_t first, std::int64_t count) const { return view.rows(first, count); }
  float at(std::int64_t row, std::int64_t column) const;
};

enum class Bias { kNone, kRequired };
constexpr Bias bias_if(bool is_present) { return is_present ? Bias::kRequired : Bias::kNone; }

// What a matrix is for, which decides how a quantization keeps it.
// A router's stays float32: which experts a row uses hangs on small differences.
enum class MatrixRole { kLayer, kHead, kRouter };

class WeightReader {
 public:
  WeightReader(LoadOps& ops, const WeightSource& source, DType dtype,
               const Quantization& quantization = {},
               const std::optional<StoredQuantization>& stored = {});

  LoadOps& ops() const { return ops_; }

  // The parts stacked along the output dimension. Throws Error naming a tensor that is missing,
  // misshapen or not of floats. Where the source keeps packed matrices, they come from there.
  // The same parts in as few stacks as there are kinds of neighbours: what the source stores in
  // other types cannot lie in one stack as it is.
  std::vector<std::vector<MatrixPart>> alike(const std::vector<MatrixPart>& parts) const;

  std::unique_ptr<PackedLinear> linear(const std::vector<MatrixPart>& parts, std::int64_t in_width,
                                       Bias bias, MatrixRole role = MatrixRole::kLayer);

  // Whether the source stores a matrix as blocks that are kept as they are.
  bool keeps_blocks(const std::string& name, MatrixRole role) const;

  // A matrix of which others are made, by pack: in the serving dtype, whatever quantization was
  // asked for. shape: as it is stored, the last dimension that of the rows.
  FloatMatrix floats(const std::string& name, const Shape& shape);
  // It has been read; views of what floats() gave end.
  void release(const std::string& name) { source_.release(name + ".weight"); }
  bool has(const std::string& name) const;  // the checkpoint holds this tensor
  bool has_matrix(const std::string& name) const { return has(name + ".weight"); }
  std::unique_ptr<PackedLinear> pack(Tensor matrix);

  // A matrix [rows, width] that is looked up by row and never multiplied with.
  Tensor rows(const MatrixPart& part, std::int64_t width);

  // A vector, float32 [width] in backend memory: each element rounded to the serving dtype, then
  // plus `offset`.
  Tensor vector(const std::string& name, std::int64_t width, float offset = 0.0F);

  // The same as it is stored, not rounded.
  Tensor exact(const std::string& name, std::int64_t width);

  // A vector of one element, rounded to the serving dtype.
  float number(const std::string& name);

  // A vector as `exact`, of a tensor of any shape, whose elements `change` puts into the order of `kept`, and
  // may compute with.
  Tensor changed(const std::string& name, const Shape& stored, const Shape& kept,
                 const std::function<void(std::vector<float>& values)>& change);

  // A vector that no checkpoint holds, float32 in backend memory.
  Tensor made(const std::vector<float>& values);

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
    DType dtype;
    std::vector<std::string> tensors = {};
  };

  Tensor take(const std::string& name, const Shape& shape);
  Tensor take_part(const MatrixPart& part, const std::string& suffix, std::int64_t width);
  // The format of the blocks that it is stored as, with what products do to their input.
  std::optional<WeightFormat> block_format(const std::string& name) const;

  WeightFormat asked_format(MatrixRole role) const;
  Tensor keep(const std::vector<float>& values, const Shape& shape);
  Tensor keep_vector(const std::string& name, DType rounded, std::int64_t width, float offset);
  void refuse_if_part(const std::string& tensor) const;
  std::unique_ptr<PackedLinear> pack(const std::vector<MatrixPart>& parts, std::int64_t in_width,
                                     Bias bias, Making& making);
  GgufCodes take_blocks(const MatrixPart& part, std::int64_t width, Making& making);

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
