#pragma once
// Gemm: y = x * W^T + bias on the thread pool, with the kernels of one instruction set in one order
// of addition. Weights of codes whose products do not round their input are widened to bf16 block
// by block, in the worker's cache, and multiplied as such. Bits of a row depend on that row and the
// weights only: work is divided over columns and rows, never over K. What follows a product element
// by element can be done by the worker that computed it, while it is in its cache: run_tiles and
// run_gated. Rows that go from core to core cost small models more than their arithmetic. One
// caller at a time (the engine thread).

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/cpu/matmul/packed_linear.h"
#include "backend/cpu/table/isa.h"
#include "backend/cpu/table/kernels.h"
#include "backend/forward_size.h"
#include "base/index.h"
#include "base/threads.h"
#include "tensor/buffer.h"

namespace foretoken {

inline constexpr std::size_t kCacheLineBytes = 64;

class Gemm {
 public:
  Gemm(const KernelTable& kernels, GemmOrder order, ThreadPool& pool);

  // For which kernels codes that keep their input are to be packed: kDots or kTiles.
  Layout code_layout() const {
    const bool has_tiles = order_ == GemmOrder::kTile && kernels_.widened4.run != nullptr;
    return has_tiles ? Layout::kTiles : Layout::kDots;
  }

  // Makes room for products of these weights, before the first of them.
  void expect_weights(const CpuLinear& w);

  // y [rows, w.out_width] f32 = x [rows, w.in_width] f32 * w^T + bias. Where w is bf16, x is
  // rounded to bf16 first.
  void run(const CpuLinear& w, const float* x, int rows, float* y);

  // Products of few rows each, like those of experts: computed together, because a product of its
  // own keeps not all workers busy and waits for the last of them.
  struct Product {
    const CpuLinear* w;
    const float* x;  // [rows, w.in_width]; several products may have the same
    int rows;
    float* y;  // [rows, w.out_width]
  };
  void run_many(std::span<const Product> products);

  // StepOps::linear_heads. The matrices are floats.
  void run_heads(std::span<const std::unique_ptr<PackedLinear>> w, const Tensor& x,
                 const Tensor& y);

  // The input of a product, written in pieces as they are computed; any thread.
  class Input {
   public:
    // Where the values of a row from a column on may be made: their place, if they stay as they
    // are, or `aside`.
    float* room(int row, std::int64_t col, float* aside) const;
    // x [cols], which may lie in that room.
    void write(int row, std::int64_t col, int cols, const float* x) const;

   private:
    friend class Gemm;
    const GemmKernels* kernels_ = nullptr;
    char* data_ = nullptr;
    std::int64_t stride_ = 0;  // elements
    int tile_rows_ = 0;
    char* place(std::int64_t row, std::int64_t col) const;
    bool is_packed_ = false;  // else float32 as it is
  };
  // For pieces that begin and end at multiples of so many columns; valid until the next call.
  // Nothing where such pieces are not whole lines of what the kernels read.
  std::optional<Input> open_input(const CpuLinear& w, int rows, int cols);
  void run(const CpuLinear& w, const Input& x, int rows, float* y);

  // Some rows of a product, of neighbouring columns in each of its equal parts.
  struct Tile {
    int first_row, rows;
    int first_col, cols;
    float* y;  // [parts, rows, cols]
  };
  using UseTile = std::function<void(const Tile&, int worker)>;

  // The product of run() in tiles of a multiple of `cols` columns, handed to `use` on the worker
  // that computed them. False, and nothing done, where the weights are not packed for such tiles.
  bool run_tiles(const CpuLinear& w, const float* x, int rows, int cols, int parts,
                 const UseTile& use);

  // y = (act(x * gate^T) * (x * up^T)) * down^T; gate_up holds the two one after the other. False,
  // and nothing done, where the weights are not packed for that.
  struct GatedMlp {
    const CpuLinear& gate_up;
    const CpuLinear& down;
    Activation act;
  };
  bool run_gated(const GatedMlp& mlp, const float* x, int rows, float* y);

  // Memory kept between calls: what forwards of a size need at most, and what is held now.
  std::size_t workspace_bytes(const ForwardSize& size) const;
  std::size_t workspace_bytes() const {
    return ordered_x_.bytes() + packed_x_.bytes() + input_.bytes() + tiles_.bytes() +
           widened_.bytes() + sums_.bytes() + heads_.bytes();
  }

 private:
  // Elements of x that one thread packs faster than workers wake up.
  static constexpr std::int64_t kPackedAlone = 1 << 15;
  // Where the kernel reads x: `x` itself or its packed copy.
  struct PackedX {
    const char* data;
    std::int64_t stride;  // elements
    int tile_rows;
  };
  // How an output is cut into items: `cols` columns by `rows` rows each, rows varying fastest, so
  // that a worker's contiguous share of items is one contiguous stream of weights.
  struct Cut {
    int cols, rows;
    int col_items, row_items;
    int items() const { return col_items * row_items; }
  };
  // items_wanted: of each worker; 0: the usual.
  Cut cut_output(const CpuLinear& w, int rows, int items_wanted = 0) const;
  static Cut cut_rows(const GemmKernels& kernels, int cols, int col_items, int rows, int most_rows,
                      int wanted_items);
  const GemmKernels& kernels_for(DType dtype) const;
  const GemmKernels& kernels_for(const CpuLinear& w, int rows) const;
  // Whether its codes stand for bf16 weights.
  static bool keeps_input(const CpuLinear& w) {
    return w.format().is_coded() && !w.format().rounds_input;
  }
  // Whether they become such weights before a product of bf16 multiplies by them.
  static bool is_widened(const CpuLinear& w) {
    return keeps_input(w) && w.codes().layout == Layout::kDots;
  }
  static std::int64_t product_k(const CpuLinear& w) {
    return keeps_input(w) ? round_up(w.in_width(), kBlockK) : w.packed_k();
  }
  // Columns of a product from `col` on; the call says all but the weights.
  void run_columns(const GemmKernels& kernels, const CpuLinear& w, std::int64_t col, GemmCall call,
                   int worker) const;
  PackedX pack_x(const GemmKernels& kernels, const CpuLinear& w, const float* x, int rows);
  // Elements from row to row of packed input.
  static std::int64_t packed_stride(const GemmKernels& kernels, const CpuLinear& w);
  // Rows from `first` on of an input that is packed whole to `packed`.
  static void pack_rows(const GemmKernels& kernels, const CpuLinear& w, const float* x, int first,
                        int count, const PackedX& packed);
  std::size_t heads_bytes(const ForwardSize& size) const;               // of run_heads
  const float* in_order(const CpuLinear& w, const float* x, int rows);  // of its columns
  void run_packed(const CpuLinear& w, const PackedX& x, int rows, float* y);
  void run_item(const Product& product, const PackedX& x, const Cut& cut, int item,
                int worker) const;

  // Products that are computed together (gemm_many.cc).
  std::vector<PackedX> pack_joined(std::span<const Product> products);
  void run_joined(std::span<const Product> products);

  // Many rows (gemm_wide.cc): items of many columns, whose sums the kernel keeps in sums_.
  struct WideCut;
  auto sum_of(const CpuLinear& w, int rows) const
      -> void (*)(const GemmCall&);  // null: there is none
  std::optional<WideCut> cut_wide(const CpuLinear& w, int rows, int parts, int tile_cols) const;
  // Calls use(item's call, its first row and column of a part, worker) with the sums in place.
  template <typename Use>
  void sum_wide(const CpuLinear& w, const PackedX& x, int rows, const WideCut& cut, const Use& use);
  bool run_wide(const CpuLinear& w, const PackedX& x, int rows, float* y);
  bool run_wide_tiles(const CpuLinear& w, const PackedX& x, int rows, int cols, int parts,
                      const UseTile& use);

  KernelTable kernels_;
  GemmOrder order_;
  ThreadPool& pool_;
  bool has_column_orders_ = false;  // some weights have their columns in an order of their own
  Buffer ordered_x_;
  Buffer packed_x_;
  Buffer input_;
  Buffer tiles_;    // of each worker
  Buffer widened_;  // of each worker: the weights of a call as bf16
  Buffer sums_;     // of each worker: those of a wide item
  Buffer heads_;    // of each worker: rows of one head, as they are and packed
};

}  // namespace foretoken
