#include "backend/cpu/matmul/gemm.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {
namespace {

constexpr int kStreamRows = 16;      // up to here the weights' stream is the cost: smallest items
constexpr int kItemBytes = 1 << 14;  // of weights, that are worth handing out
constexpr int kItemsPerWorker = 6;   // enough to even out cores of unequal speed
constexpr int kFewestRows = 48;      // of an item; with fewer, reading weights dominates
constexpr int kStripRows = 128;      // of an item whose output stays in the worker's cache

// Codes widened to bf16: one block, and those of the widest call.
std::int64_t widened_block_bytes(std::int64_t packed_k) { return packed_k * kBlockCols * 2; }
std::size_t widened_bytes(std::int64_t packed_k) {
  return at(widened_block_bytes(packed_k) * (kMaxCallCols / kBlockCols));
}

// Products of codes look at a whole group of their input before they round it, and find columns in
// an order of their own all over it.
bool takes_whole_rows(const CpuLinear& w) {
  return (w.format().is_coded() && w.format().rounds_input) || w.column_order() != nullptr;
}

// Whether GemmKernels::run_codes takes these: zero points times scales are exact.
bool has_exact_shifts(const CodeLayout& codes) {
  return codes.blocks.piece_units == 0 && (codes.zeros_at == 0 || codes.scale != CodeScale::kF32);
}

// PackXCall::zero.
int packed_zero(const WeightFormat& format) {
  constexpr int kListedZero = 128;  // codes of a list are so much more
  if (format.has_zero_points || format.has_minima) return 1;
  return format.is_listed() ? kListedZero : format.zero();
}

// The fewest columns of an item of a few rows: as many as a call takes, because it reads two blocks
// of codes in turns, which memory brings faster than one, unless workers would get less than two
// such items.
int fewest_cols(std::int64_t cols, int workers) {
  return cols >= std::int64_t{2} * kMaxCallCols * workers ? kMaxCallCols : kBlockCols;
}

// The columns of an item that is a stream of weights: as few as are worth handing out.
int stream_cols(const CpuLinear& w, int share, int workers) {
  const std::int64_t block_bytes = w.block_bytes() * kBlockCols / w.block_cols();
  const std::int64_t most = w.out_width() / kBlockCols / (std::int64_t{share} * workers);
  const std::int64_t cols = std::min(kItemBytes / block_bytes, most) * kBlockCols;
  return std::max(static_cast<int>(cols), fewest_cols(w.out_width(), workers));
}

}  // namespace

Gemm::Gemm(const KernelTable& kernels, GemmOrder order, ThreadPool& pool)
    : kernels_(kernels), order_(order), pool_(pool) {}

// Cuts rows into items, given how many items the columns make.
Gemm::Cut Gemm::cut_rows(const GemmKernels& kernels, int cols, int col_items, int rows,
                         int most_rows, int wanted_items) {
  const int wanted = ceil_div(wanted_items, col_items);
  const int most = std::max(1, rows / kFewestRows);
  const int row_items = std::max(std::min(wanted, most), ceil_div(rows, most_rows));
  Cut cut{.cols = cols, .rows = 0, .col_items = col_items, .row_items = 0};
  cut.rows = round_up(ceil_div(rows, row_items), kernels.row_step);
  cut.row_items = ceil_div(rows, cut.rows);
  return cut;
}

Gemm::Cut Gemm::cut_output(const CpuLinear& w, int rows, int items_wanted) const {
  const GemmKernels& kernels = kernels_for(w, rows);
  const ProductPlan& plan = w.plans().of(rows);
  const int usual = plan.share > 0 ? plan.share : kItemsPerWorker;
  const int share = items_wanted > 0 ? items_wanted : usual;
  const int workers = pool_.size();
  const int cols = plan.cols > 0         ? plan.cols
                   : rows <= kStreamRows ? stream_cols(w, share, workers)
                                         : kMaxCallCols;
  return cut_rows(kernels, cols, static_cast<int>(ceil_div(w.out_width(), cols)), rows,
                  kernels.max_rows, share * workers);
}

const GemmKernels& Gemm::kernels_for(DType dtype) const {
  if (dtype == DType::kF32) return kernels_.f32;
  if (dtype == DType::kF16) return kernels_.f16;
  return order_ == GemmOrder::kTile ? kernels_.bf16_tile : kernels_.bf16_pair;
}

const GemmKernels& Gemm::kernels_for(const CpuLinear& w, int rows) const {
  if (!w.format().is_coded()) return kernels_for(w.dtype());
  const CodeLayout& codes = w.codes();
  if (codes.layout == Layout::kTable) return kernels_.looked_up8;
  if (codes.layout == Layout::kTiles)
    return codes.bits == 4 ? kernels_.widened4 : kernels_.widened8;
  if (!w.format().rounds_input) return kernels_for(DType::kBF16);
  if (codes.bits == 8 && codes.groups == 1 && codes.step == kCodeStepK) return kernels_.codes_row8;
  const bool is_tiled = codes.bits == 4 && codes.blocks.piece_units == 0 &&
                        codes.group <= kMostTileGroup &&
                        rows * codes.group >= kernels_.groups4_work;
  return is_tiled ? kernels_.codes_groups4 : kernels_.codes;
}

void Gemm::expect_weights(const CpuLinear& w) {
  has_column_orders_ = has_column_orders_ || w.column_order() != nullptr;
  if (!is_widened(w)) return;
  const std::size_t bytes = widened_bytes(w.packed_k()) * at(pool_.size());
  if (widened_.bytes() < bytes) widened_ = Buffer(bytes);
}

void Gemm::run_columns(const GemmKernels& kernels, const CpuLinear& w, std::int64_t col,
                       GemmCall call, int worker) const {
  const char* block = w.block(col / w.block_cols());
  call.block_bytes = w.block_stride();
  call.k = product_k(w);
  call.weights = block;
  call.codes = w.codes();
  call.bias = w.bias() == nullptr ? nullptr : w.bias() + col;
  if (call.prefetch_bytes == 0) call.prefetch_bytes = kernels.prefetch_bytes;
  if (is_widened(w)) {
    if (call.rows <= kernels.code_rows && has_exact_shifts(call.codes))
      return kernels.run_codes(call);
    const std::int64_t block_bytes = widened_block_bytes(w.packed_k());
    char* widened = static_cast<char*>(widened_.data()) + widened_bytes(w.packed_k()) * at(worker);
    kernels_.widen({.weights = block,
                    .block_bytes = w.block_stride(),
                    .codes = w.codes(),
                    .out = widened,
                    .out_block_bytes = block_bytes,
                    .blocks = ceil_div(call.cols, kBlockCols)});
    call.weights = widened;
    call.block_bytes = block_bytes;
  }
  kernels.run(call);
}

std::size_t Gemm::workspace_bytes(const ForwardSize& size) const {
  std::int64_t row_bytes = 0, row_step = 1;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const GemmKernels& kernels = kernels_for(dtype);
    const std::int64_t packed_k = round_up(size.widest_input, kBlockK);
    row_bytes = std::max(row_bytes, (packed_k + kernels.x_row_extra) * kernels.x_bytes);
    row_step = std::max<std::int64_t>(row_step, kernels.row_step);
  }
  row_step = std::max<std::int64_t>(
      row_step, std::max(kernels_.codes_row8.row_step, kernels_.codes_groups4.row_step));
  // Codes, and of each of the smallest groups a scale and a sum.
  row_bytes = std::max(row_bytes, 2 * round_up(size.widest_input, 2 * kCodeStepK));
  if (has_column_orders_) row_bytes += size.widest_input * 4;
  const std::int64_t tile_cols = std::max(kMaxCallCols, size.attention.head_dim);
  const std::int64_t tile_floats = (kStripRows + row_step) * tile_cols * 2;
  const std::int64_t wide_floats = row_step > 1 ? std::int64_t{kWideRows} * kWideCols : 0;
  return static_cast<std::size_t>(2 * (size.rows + row_step) * row_bytes +
                                  (tile_floats + wide_floats) * pool_.size() * 4) +
         widened_.bytes() + heads_bytes(size);
}

std::int64_t Gemm::packed_stride(const GemmKernels& kernels, const CpuLinear& w) {
  if (!w.format().is_coded()) return w.packed_k() + kernels.x_row_extra;
  if (!w.format().rounds_input) return round_up(w.in_width(), kBlockK) + kernels.x_row_extra;
  constexpr std::int64_t kGroupBytes = sizeof(float) + sizeof(std::int32_t);
  return round_up(w.packed_k() + w.codes().groups * kGroupBytes, 64) + kernels.x_row_extra;
}

const float* Gemm::in_order(const CpuLinear& w, const float* x, int rows) {
  if (w.column_order() == nullptr) return x;
  constexpr std::int64_t kAlone = 1 << 14;  // elements that are moved before workers wake up
  const std::int64_t k = w.in_width();
  const auto bytes = at(rows * k) * sizeof(float);
  if (ordered_x_.bytes() < bytes) ordered_x_ = Buffer(bytes);
  auto* const ordered = static_cast<float*>(ordered_x_.data());
  const auto move_row = [&](int row, int) {
    const float* const from = x + row * k;
    float* const to = ordered + row * k;
    for (std::int64_t i = 0; i < k; ++i) to[i] = from[w.column_order()[i]];
  };
  if (rows * k > kAlone) {
    pool_.parallel_for(rows, move_row);
  } else {
    for (int row = 0; row < rows; ++row) move_row(row, 0);
  }
  return ordered;
}

Gemm::PackedX Gemm::pack_x(const GemmKernels& kernels, const CpuLinear& w, const float* x,
                           int rows) {
  const std::int64_t k = w.in_width();
  const int tile_rows = kernels.tile_rows(rows);
  x = in_order(w, x, rows);
  if (kernels.pack_x == nullptr) return {reinterpret_cast<const char*>(x), k, tile_rows};

  const std::int64_t stride = packed_stride(kernels, w);
  const std::int64_t padded_rows = round_up(rows, kernels.row_step);
  const auto bytes = static_cast<std::size_t>(padded_rows * stride * kernels.x_bytes);
  if (packed_x_.bytes() < bytes) packed_x_ = Buffer(bytes);
  char* packed = static_cast<char*>(packed_x_.data());

  const PackedX whole{packed, stride, tile_rows};
  if (rows * k <= kPackedAlone) {
    const FlushDenormals flush;
    pack_rows(kernels, w, x, 0, rows, whole);
  } else {
    pool_.parallel_for(ceil_div(rows, kernels.row_step), [&](int item, int) {
      const int first = item * kernels.row_step;
      pack_rows(kernels, w, x, first, std::min(kernels.row_step, rows - first), whole);
    });
  }
  return whole;
}

void Gemm::pack_rows(const GemmKernels& kernels, const CpuLinear& w, const float* x, int first,
                     int count, const PackedX& packed) {
  kernels.pack_x(
      {.x = x + first * w.in_width(),
       .k = w.in_width(),
       .packed = const_cast<char*>(packed.data) + first * packed.stride * kernels.x_bytes,
       .x_stride = packed.stride,
       .rows = count,
       .tile_rows = packed.tile_rows,
       .packed_k = w.packed_k(),
       .group = w.codes().group,
       .has_super = w.format().super > 0,
       .has_minima = w.format().has_minima,
       .zero = packed_zero(w.format())});
}

void Gemm::run(const CpuLinear& w, const float* x, int rows, float* y) {
  CHECK(rows > 0);
  run_packed(w, pack_x(kernels_for(w, rows), w, x, rows), rows, y);
}

void Gemm::run_packed(const CpuLinear& w, const PackedX& x, int rows, float* y) {
  if (run_wide(w, x, rows, y)) return;
  const Cut cut = cut_output(w, rows);
  const Product product{.w = &w, .x = nullptr, .rows = rows, .y = y};
  pool_.parallel_for(cut.items(),
                     [&](int item, int worker) { run_item(product, x, cut, item, worker); });
}

void Gemm::run_item(const Product& product, const PackedX& x, const Cut& cut, int item,
                    int worker) const {
  const CpuLinear& w = *product.w;
  const GemmKernels& kernels = kernels_for(w, product.rows);
  const ProductPlan& plan = w.plans().of(product.rows);
  const std::int64_t out = w.out_width();
  const std::int64_t first = std::int64_t{item / cut.row_items} * cut.cols;
  const std::int64_t end = std::min(first + cut.cols, out);
  const int row = item % cut.row_items * cut.rows;
  for (std::int64_t col = first; col < end; col += kMaxCallCols)
    run_columns(kernels, w, col,
                {.x = x.data + row * x.stride * kernels.x_bytes,
                 .x_stride = x.stride,
                 .y = product.y + row * out + col,
                 .y_stride = out,
                 .rows = std::min(cut.rows, product.rows - row),
                 .cols = static_cast<int>(std::min<std::int64_t>(kMaxCallCols, end - col)),
                 .tile_rows = x.tile_rows,
                 .step_k = plan.step_k,
                 .prefetch_bytes = plan.prefetch},
                worker);
}

std::optional<Gemm::Input> Gemm::open_input(const CpuLinear& w, int rows, int cols) {
  const GemmKernels& kernels = kernels_for(w, rows);
  const bool packs = kernels.pack_x != nullptr && !takes_whole_rows(w);
  if (packs && (cols % kBlockK != 0 || w.in_width() % kBlockK != 0)) return std::nullopt;
  Input input;
  input.kernels_ = &kernels;
  input.is_packed_ = packs;
  input.tile_rows_ = kernels.tile_rows(rows);
  input.stride_ = w.in_width() + (packs ? kernels.x_row_extra : 0);
  const std::int64_t element = packs ? kernels.x_bytes : 4;
  const auto bytes = static_cast<std::size_t>(round_up(rows, packs ? kernels.row_step : 1) *
                                              input.stride_ * element);
  if (input_.bytes() < bytes) input_ = Buffer(bytes);
  input.data_ = static_cast<char*>(input_.data());
  return input;
}

// Rows that are packed in groups lie side by side, as many columns of each as a tile has.
char* Gemm::Input::place(std::int64_t row, std::int64_t col) const {
  if (!is_packed_) return data_ + (row * stride_ + col) * 4;
  const std::int64_t group = tile_rows_;
  const std::int64_t tile = row / group * group * stride_ + col * group;
  return data_ + (tile + row % group * kernels_->x_row_place) * kernels_->x_bytes;
}

float* Gemm::Input::room(int row, std::int64_t col, float* aside) const {
  return is_packed_ ? aside : reinterpret_cast<float*>(place(row, col));
}

void Gemm::Input::write(int row, std::int64_t col, int cols, const float* x) const {
  char* const to = place(row, col);
  if (is_packed_)
    kernels_->pack_x(
        {.x = x, .k = cols, .packed = to, .x_stride = stride_, .rows = 1, .tile_rows = tile_rows_});
  else if (reinterpret_cast<const char*>(x) != to)
    std::memcpy(to, x, at(cols) * sizeof(float));
}

void Gemm::run(const CpuLinear& w, const Input& x, int rows, float* y) {
  if (takes_whole_rows(w))
    run(w, reinterpret_cast<const float*>(x.data_), rows, y);
  else
    run_packed(w, {x.data_, x.stride_, x.tile_rows_}, rows, y);
}

bool Gemm::run_tiles(const CpuLinear& w, const float* x, int rows, int cols, int parts,
                     const UseTile& use) {
  const GemmKernels& kernels = kernels_for(w, rows);
  const std::int64_t part_cols = w.out_width() / parts;
  // Kernels read kBlockCols columns at a time, whether they exist or not.
  if (cols % kBlockCols != 0 || part_cols % cols != 0) return false;
  const ProductPlan& plan = w.plans().of(rows);
  const PackedX packed = pack_x(kernels, w, x, rows);
  if (run_wide_tiles(w, packed, rows, cols, parts, use)) return true;
  const int tiles = static_cast<int>(part_cols / cols);
  const Cut cut = cut_rows(kernels, cols, tiles, rows, std::min(kernels.max_rows, kStripRows),
                           kItemsPerWorker * pool_.size());
  const std::int64_t tile_floats = std::int64_t{cut.rows} * cols * parts;
  const std::size_t bytes = static_cast<std::size_t>(tile_floats * pool_.size()) * sizeof(float);
  if (tiles_.bytes() < bytes) tiles_ = Buffer(bytes);

  pool_.parallel_for(tiles * cut.row_items, [&](int item, int worker) {
    const int row = item % cut.row_items * cut.rows;
    const Tile tile{.first_row = row,
                    .rows = std::min(cut.rows, rows - row),
                    .first_col = item / cut.row_items * cols,
                    .cols = cols,
                    .y = static_cast<float*>(tiles_.data()) + worker * tile_floats};
    for (int part = 0; part < parts; ++part)
      for (int at = 0; at < cols; at += kMaxCallCols) {
        const std::int64_t col = part * part_cols + tile.first_col + at;
        run_columns(kernels, w, col,
                    {.x = packed.data + row * packed.stride * kernels.x_bytes,
                     .x_stride = packed.stride,
                     .y = tile.y + std::int64_t{part} * tile.rows * cols + at,
                     .y_stride = cols,
                     .rows = tile.rows,
                     .cols = std::min(kMaxCallCols, cols - at),
                     .tile_rows = packed.tile_rows,
                     .step_k = plan.step_k,
                     .prefetch_bytes = plan.prefetch},
                    worker);
      }
    use(tile, worker);
  });
  return true;
}

bool Gemm::run_gated(const GatedMlp& mlp, const float* x, int rows, float* y) {
  const CpuLinear& gate_up = mlp.gate_up;
  const CpuLinear& down = mlp.down;
  const auto act = kernels_.ops.gated_act[static_cast<std::size_t>(mlp.act)];
  const int cols =
      rows <= kStreamRows ? fewest_cols(gate_up.out_width() / 2, pool_.size()) : kMaxCallCols;
  const std::optional<Input> gated = open_input(down, rows, cols);
  if (!gated) return false;
  const auto activate = [&](const Tile& tile, int) {
    const std::int64_t part = std::int64_t{tile.rows} * tile.cols;
    for (int r = 0; r < tile.rows; ++r) {
      float* const gate = tile.y + std::int64_t{r} * tile.cols;
      const int row = tile.first_row + r;
      float* const out = gated->room(row, tile.first_col, gate);
      act(gate, gate + part, tile.cols, out);
      gated->write(row, tile.first_col, tile.cols, out);
    }
  };
  if (!run_tiles(gate_up, x, rows, cols, 2, activate)) return false;
  run(down, *gated, rows, y);
  return true;
}

}  // namespace foretoken
