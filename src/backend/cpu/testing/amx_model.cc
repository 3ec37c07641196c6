// AMX tile registers in software, so that machines without AMX test the code that drives them; and
// the input of VDPBF16PS in the order of its products.
// Semantics from Intel's Software Developer's Manual (TDPBF16PS): per output two chains of fused
// multiply-adds from zero, over even and over odd elements, added, then added to the accumulator.
#define FT_V16_SCALAR
#include "backend/cpu/testing/amx_model.h"

#include "backend/cpu/attention/attention_amx.h"
#include "backend/cpu/matmul/kernels/bf16_input.h"
#include "backend/cpu/matmul/kernels/bf16_weights.h"
#include "backend/cpu/matmul/kernels/fma_codes_kept.h"
#include "backend/cpu/matmul/kernels/tiles_fp8_kept.h"
#include "backend/cpu/matmul/kernels/tiles_int4_kept.h"
#include "backend/cpu/matmul/kernels/tiles_int4_rounded.h"
#include "backend/cpu/matmul/kernels/tiles_int8_kept.h"

namespace foretoken {
namespace {

// Registers are numbered at run time in functions of their own, so that kernels inline calls only.
struct ModelTiles {
  // Only kernels that configure first may use the registers, as on the processor.
  static void configure(TileShape wanted) { shape = wanted; }

  template <int T>
  static void zero() {
    zero_tile(T);
  }
  template <int T>
  static void load(const void* p, std::int64_t row_bytes) {
    load_tile(T, p, row_bytes);
  }
  template <int T>
  static void load_once(const void* p, std::int64_t row_bytes) {
    load_tile(T, p, row_bytes);
  }
  template <int T>
  static void store(void* p, std::int64_t row_bytes) {
    store_tile(T, p, row_bytes);
  }
  template <int C, int A, int B>
  static void dot() {
    dot_floats(C, A, B);
  }

 protected:
  template <class Weight>
  [[gnu::noinline]] static void dot_bytes(int c, int a, int b) {
    require_shapes(c, a, b);
    for (int row = 0; row < size_of(a).rows; ++row)
      for (int col = 0; col < size_of(b).row_bytes / 4; ++col)
        for (int quad = 0; quad < 16; ++quad)
          for (int byte = 0; byte < 4; ++byte) {
            const auto x = static_cast<std::int8_t>(tile[a][row * 16 + quad] >> (8 * byte));
            const auto w = static_cast<Weight>(tile[b][quad * 16 + col] >> (8 * byte));
            tile[c][row * 16 + col] += static_cast<std::uint32_t>(x * w);
          }
  }

 private:
  [[gnu::noinline]] static void zero_tile(int t) {
    require_configured();
    for (std::uint32_t& word : tile[t]) word = 0;
  }
  // What is not loaded is zero, as on the processor.
  [[gnu::noinline]] static void load_tile(int t, const void* p, std::int64_t row_bytes) {
    zero_tile(t);
    for (int row = 0; row < size_of(t).rows; ++row)
      __builtin_memcpy(&tile[t][row * 16], static_cast<const char*>(p) + row * row_bytes,
                       at(size_of(t).row_bytes));
  }
  [[gnu::noinline]] static void store_tile(int t, void* p, std::int64_t row_bytes) {
    require_configured();
    for (int row = 0; row < size_of(t).rows; ++row)
      __builtin_memcpy(static_cast<char*>(p) + row * row_bytes, &tile[t][row * 16],
                       at(size_of(t).row_bytes));
  }
  [[gnu::noinline]] static void dot_floats(int c, int a, int b) {
    require_shapes(c, a, b);
    for (int row = 0; row < size_of(a).rows; ++row) {
      for (int col = 0; col < size_of(b).row_bytes / 4; ++col) {
        float even = 0.0F, odd = 0.0F;
        for (int pair = 0; pair < 16; ++pair) {
          const std::uint32_t x = tile[a][row * 16 + pair], w = tile[b][pair * 16 + col];
          even = __builtin_fmaf(low(x), low(w), even);
          odd = __builtin_fmaf(high(x), high(w), odd);
        }
        const float sum = even + odd;
        std::uint32_t& y = tile[c][row * 16 + col];
        y = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, y) + sum);
      }
    }
  }
  static float low(std::uint32_t pair) { return __builtin_bit_cast(float, pair << 16); }
  static float high(std::uint32_t pair) { return __builtin_bit_cast(float, pair & 0xffff0000U); }
  static TileSize size_of(int t) { return size_of_tile(shape, t); }
  static void require_configured() {
    if (shape.rows == 0) __builtin_trap();
  }
  // The processor refuses products of other shapes.
  static void require_shapes(int c, int a, int b) {
    require_configured();
    if (size_of(c) != TileSize{size_of(a).rows, size_of(b).row_bytes} ||
        size_of(a).row_bytes != 4 * size_of(b).rows)
      __builtin_trap();
  }
  static thread_local TileShape shape;
  static thread_local std::uint32_t tile[8][256];
};

// The same registers, of codes (TDPBSUD): signed bytes of A, unsigned ones of B.
struct ModelCodeTiles : ModelTiles {
  template <int C, int A, int B>
  static void dot() {
    dot_bytes<std::uint8_t>(C, A, B);
  }
};

// Of codes less their zero points (TDPBSSD).
struct ModelSignedTiles : ModelTiles {
  template <int C, int A, int B>
  static void dot() {
    dot_bytes<std::int8_t>(C, A, B);
  }
};

thread_local TileShape ModelTiles::shape = {.rows = 0};
thread_local std::uint32_t ModelTiles::tile[8][256];

float wide(std::uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

// The pair order on the input of VDPBF16PS, as far as weights of codes need it.
void run_pairs(const GemmCall& call) {
  for (int row = 0; row < call.rows; ++row)
    for (int col = 0; col < call.cols; ++col) {
      const auto* x = static_cast<const std::uint16_t*>(call.x) + row * call.x_stride;
      float sum = 0.0F;
      for (std::int64_t k = 0; k < call.k; k += 2) {
        const char* tiles = Bf16Weights::weights_at(call, col / 16 * 16, static_cast<int>(k));
        std::uint16_t w[2];
        __builtin_memcpy(w, tiles + k % kBlockK / 2 * 64 + col % 16 * 4, sizeof w);
        sum = __builtin_fmaf(wide(w[1]), wide(x[k + 1]), sum);
        sum = __builtin_fmaf(wide(w[0]), wide(x[k]), sum);
      }
      call.y[row * call.y_stride + col] = call.bias == nullptr ? sum : sum + call.bias[col];
    }
}

}  // namespace

// Wide from fewer rows on, because software is slow.
KernelTable amx_model_kernels() {
  constexpr int kWide = 33;
  KernelTable table = scalar_kernels();
  table.bf16_tile = tile_gemm<ModelTiles>(kWide);
  table.bf16_pair = {.pack_x = pack_x_bf16,
                     .run = run_pairs,
                     .peak = table.bf16_pair.peak,
                     .x_bytes = 2,
                     .x_row_extra = 32,
                     .row_step = 1,
                     .max_rows = 1 << 30,
                     .run_codes = run_codes_on_bf16<CodedPairOrder>,
                     .code_rows = kFewCodedRows};
  table.ops.attention[0] = tile_attention_item<ModelTiles>;
  table.ops.attention_queries = kAttnMaxQueries;
  table.codes_row8 = code_tile_gemm<ModelCodeTiles>(kWide);
  table.codes_groups4 = group_tile_gemm<ModelSignedTiles>(kWide);
  table.groups4_work = 1;
  table.widened4 = widened_gemm<ModelTiles, LookedUp>(kWide);
  table.widened8 = widened_gemm<ModelTiles, Bytes>(kWide);
  table.looked_up8 = widened_gemm<ModelTiles, LookedUpE4M3>(kWide);
  return table;
}

}  // namespace foretoken
