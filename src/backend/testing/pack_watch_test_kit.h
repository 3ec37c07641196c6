#pragma once
// PackWatch: a backend that remembers what was packed and what was made of kept bytes. For tests
// only.

#include <cstddef>
#include <memory>
#include <vector>

#include "backend/testing/delegate_test_kit.h"

namespace foretoken {

class PackWatch final : public Delegate {
 public:
  using Delegate::Delegate;

  std::unique_ptr<PackedLinear> pack(const LinearParts& parts) override {
    auto packed = Delegate::pack(parts);
    remember(*packed);
    ++packed_;
    return packed;
  }
  std::unique_ptr<PackedLinear> pack_again(const LinearShape& shape,
                                           const FillImage& fill) override {
    auto packed = Delegate::pack_again(shape, fill);
    if (!packed) return packed;
    remember(*packed);
    ++read_;
    return packed;
  }

  // Since the last call.
  struct Seen {
    int packed = 0, read = 0;
    std::vector<std::vector<std::byte>> images;  // of all matrices, in order
  };
  Seen seen() {
    return {std::exchange(packed_, 0), std::exchange(read_, 0), std::exchange(images_, {})};
  }

 private:
  void remember(const PackedLinear& packed) {
    for (const auto image : packed.images()) images_.emplace_back(image.begin(), image.end());
  }

  int packed_ = 0, read_ = 0;
  std::vector<std::vector<std::byte>> images_;
};

}  // namespace foretoken
