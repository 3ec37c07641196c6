#include "checkpoint/quantized/code_words.h"

#include <algorithm>
#include <cstring>

#include "base/index.h"

namespace foretoken {
namespace {

// Layouts that loops over a whole matrix are compiled for.
template <int Bits>
struct LowFirst {
  static constexpr int kPerWord = 32 / Bits;
  static constexpr unsigned kMask = (1U << unsigned{Bits}) - 1U;
  static constexpr unsigned shift(int i) { return static_cast<unsigned>(i * Bits); }
};
struct Awq : LowFirst<4> {
  static constexpr unsigned shift(int i) { return static_cast<unsigned>(i / 2 * 4 + i % 2 * 16); }
};

// The codes of a word, `step` apart.
template <class Layout>
void spread(std::uint32_t word, std::uint8_t* codes, std::int64_t step) {
  for (int i = 0; i < Layout::kPerWord; ++i, codes += step)
    *codes = static_cast<std::uint8_t>(word >> Layout::shift(i) & Layout::kMask);
}

// Few rows at a time: their codes stay in a cache while columns come.
template <class Layout>
void unpack_columns(const Tensor& words, std::int64_t n, std::int64_t k, std::uint8_t* codes) {
  constexpr std::int64_t kRows = 64;
  for (std::int64_t first = 0; first < n; first += kRows)
    for (std::int64_t col = 0; col < k; col += Layout::kPerWord)
      for (std::int64_t row = first; row < std::min(first + kRows, n); ++row)
        spread<Layout>(word_at(words, col / Layout::kPerWord * n + row), codes + row * k + col, 1);
}

template <class Layout>
void unpack_rows(const Tensor& words, std::int64_t n, std::int64_t k, std::uint8_t* codes) {
  const std::int64_t whole = k / Layout::kPerWord, row_words = ceil_div(k, Layout::kPerWord);
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t i = 0; i < whole; ++i, codes += Layout::kPerWord)
      spread<Layout>(word_at(words, row * row_words + i), codes, 1);
    for (int i = 0; i < k % Layout::kPerWord; ++i)
      *codes++ = static_cast<std::uint8_t>(
          word_at(words, row * row_words + whole) >> Layout::shift(i) & Layout::kMask);
  }
}

template <class Layout>
WordLayout layout_of() {
  WordLayout layout{.per_word = Layout::kPerWord, .mask = Layout::kMask};
  for (int i = 0; i < Layout::kPerWord; ++i) layout.shift[at(i)] = Layout::shift(i);
  return layout;
}

}  // namespace

WordLayout WordLayout::low_first(int bits) {
  return bits == 8 ? layout_of<LowFirst<8>>() : layout_of<LowFirst<4>>();
}
WordLayout WordLayout::awq() { return layout_of<Awq>(); }

std::uint32_t word_at(const Tensor& words, std::int64_t i) {
  std::uint32_t value;  // the file may be written to meanwhile: read once
  std::memcpy(&value, static_cast<const char*>(words.data()) + i * 4, sizeof value);
  return value;
}

// The rows of a word are far apart: square pieces are turned in a cache.
void unpack_awq(const Tensor& words, std::int64_t n, std::int64_t k, std::uint8_t* codes) {
  constexpr std::int64_t kSide = 64;
  std::array<std::uint8_t, kSide * kSide> piece;
  for (std::int64_t row = 0; row < n; row += kSide)
    for (std::int64_t col = 0; col < k; col += kSide) {
      const std::int64_t rows = std::min(kSide, n - row), cols = std::min(kSide, k - col);
      for (std::int64_t c = 0; c < cols; ++c)
        for (std::int64_t r = 0; r < rows; r += Awq::kPerWord)
          spread<Awq>(word_at(words, ((col + c) * n + row + r) / Awq::kPerWord),
                      &piece[at(r * kSide + c)], kSide);
      for (std::int64_t r = 0; r < rows; ++r)
        std::copy_n(&piece[at(r * kSide)], cols, codes + (row + r) * k + col);
    }
}

void unpack_gptq(const Tensor& words, int bits, std::int64_t n, std::int64_t k,
                 std::uint8_t* codes) {
  if (bits == 8)
    unpack_columns<LowFirst<8>>(words, n, k, codes);
  else
    unpack_columns<LowFirst<4>>(words, n, k, codes);
}

void unpack_compressed(const Tensor& words, int bits, std::int64_t n, std::int64_t k,
                       std::uint8_t* codes) {
  if (bits == 8)
    unpack_rows<LowFirst<8>>(words, n, k, codes);
  else
    unpack_rows<LowFirst<4>>(words, n, k, codes);
}

}  // namespace foretoken
