#include "backend/vulkan/matrix_tables.h"

#include <cstring>
#include <utility>

#include "base/error.h"

namespace foretoken {
namespace {

bool are_alike(const VulkanLinear& w, const VulkanLinear& first) {
  const bool is_coded = first.codes() != nullptr;
  CHECK(w.in_width() == first.in_width() && w.out_width() == first.out_width());
  return (w.codes() != nullptr) == is_coded && w.dtype() == first.dtype() &&
         (w.bias() == 0) == (first.bias() == 0) &&
         (!is_coded || w.codes()->format() == first.codes()->format());
}

}  // namespace

void expect_one_format(std::span<const VulkanLinear* const> matrices) {
  for (const VulkanLinear* matrix : matrices)
    if (!are_alike(*matrix, *matrices[0]))
      throw Error({.what = "the Vulkan backend holds experts of a layer in one format",
                   .where = "--device",
                   .expected = "experts of one format",
                   .found = "several formats"});
}

// What is found is compared, because other matrices may have come to lie where the first one lay.
Address MatrixTables::of(std::span<const VulkanLinear* const> matrices) {
  std::vector<MatrixAt> places;
  places.reserve(matrices.size());
  for (const VulkanLinear* matrix : matrices) places.push_back(matrix->place());
  const std::size_t bytes = places.size() * sizeof(MatrixAt);
  Table& table = tables_[matrices[0]];
  if (table.memory && table.matrices.size() == places.size() &&
      std::memcmp(table.matrices.data(), places.data(), bytes) == 0)
    return table.memory->address();
  expect_one_format(matrices);
  context_.recorder.wait();  // for calls that read the old one
  table.memory = context_.heap.take(bytes);
  table.matrices = std::move(places);
  const auto* from = reinterpret_cast<const std::byte*>(table.matrices.data());
  context_.load(table.memory->address(), bytes,
                [&](std::size_t offset, std::span<std::byte> piece) {
                  std::memcpy(piece.data(), from + offset, piece.size());
                });
  return table.memory->address();
}

}  // namespace foretoken
