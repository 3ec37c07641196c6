// What AMX adds to the table of "avx512_bf16": the tile order by TDPBF16PS, and products of codes
// by TDPBSUD.
#define FT_V16_AVX512
#include "backend/cpu/table/kernels.h"

#include "backend/cpu/attention/attention_amx.h"
#include "backend/cpu/matmul/kernels/tiles_fp8_kept.h"
#include "backend/cpu/matmul/kernels/tiles_int4_kept.h"
#include "backend/cpu/matmul/kernels/tiles_int4_rounded.h"
#include "backend/cpu/matmul/kernels/tiles_int8_kept.h"

namespace foretoken {
namespace {

// Not the compiler's intrinsics: GCC 12 takes register numbers as macro text only, says that
// LDTILECFG reads 8 bytes, and lets stores move past tile loads.
struct AmxTiles {
  struct Config {
    std::uint8_t palette, start_row, reserved[14];
    std::uint16_t row_bytes[16];
    std::uint8_t rows[16];
  };
  static_assert(sizeof(Config) == 64);

  // No other code here uses tiles, so a thread's registers stay as they were configured last.
  static void configure(TileShape shape) {
    static thread_local TileShape configured = {.rows = 0};
    if (configured == shape) return;
    Config config = {};
    config.palette = 1;
    for (int tile = 0; tile < 8; ++tile) {
      const TileSize size = size_of_tile(shape, tile);
      config.row_bytes[tile] = static_cast<std::uint16_t>(size.row_bytes);
      config.rows[tile] = static_cast<std::uint8_t>(size.rows);
    }
    asm volatile("ldtilecfg %0" ::"m"(config));
    configured = shape;
  }
  template <int T>
  FT_INLINE static void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(T));
  }
  template <int T>
  FT_INLINE static void load(const void* p, std::int64_t row_bytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(row_bytes), "i"(T) : "memory");
  }
  template <int T>
  FT_INLINE static void load_once(const void* p, std::int64_t row_bytes) {
    asm volatile("tileloaddt1 (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(row_bytes), "i"(T) : "memory");
  }
  template <int T>
  FT_INLINE static void store(void* p, std::int64_t row_bytes) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(p), "r"(row_bytes), "i"(T) : "memory");
  }
  template <int C, int A, int B>
  FT_INLINE static void dot() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
  }
};

// The same registers, of codes.
struct AmxCodeTiles : AmxTiles {
  template <int C, int A, int B>
  FT_INLINE static void dot() {
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
  }
};

// Of codes less their zero points.
struct AmxSignedTiles : AmxTiles {
  template <int C, int A, int B>
  FT_INLINE static void dot() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
  }
};

}  // namespace

GemmKernels amx_groups_gemm() { return group_tile_gemm<AmxSignedTiles>(kAmxWideRowsOfMade); }
GemmKernels amx_codes_gemm() { return code_tile_gemm<AmxCodeTiles>(kAmxWideRows); }
GemmKernels amx_lookup_gemm() { return widened_gemm<AmxTiles, LookedUp>(kAmxWideRowsOfMade); }
GemmKernels amx_bytes_gemm() { return widened_gemm<AmxTiles, Bytes>(kAmxWideRowsOfMade); }
GemmKernels amx_e4m3_gemm() { return widened_gemm<AmxTiles, LookedUpE4M3>(kAmxWideRowsOfMade); }
GemmKernels amx_tile_gemm() { return tile_gemm<AmxTiles>(kAmxWideRows); }
void amx_attention(const AttnItem& item) { tile_attention_item<AmxTiles>(item); }

}  // namespace foretoken
