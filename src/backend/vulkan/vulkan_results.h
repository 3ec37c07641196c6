#pragma once
// VulkanResults: what the host reads of a step. The device searches rows of logits, so that of most
// only some tokens cross the bus; rows of which more is needed are read whole (row_search.h). The
// host finishes in read_back(), with its own arithmetic. One thread at a time.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backend/forward_size.h"
#include "backend/ops.h"
#include "backend/vulkan/calls.h"
#include "backend/vulkan/context.h"
#include "base/threads.h"

namespace foretoken {

class VulkanResults {
 public:
  // host: computes what the host does of other operations' results.
  VulkanResults(VulkanContext& context, GpuArena& scratch, Ops& host, ThreadPool& pool)
      : context_(context), scratch_(scratch), host_(host), pool_(pool) {}

  // A step begins: what was asked for and not read is not wanted any more.
  void forget() { wanted_.clear(); }

  // As ResultOps has them.
  void read_back();
  void read_rows(const Tensor& x, std::span<const std::int32_t> rows, std::vector<float>& out);
  void top_tokens(const Tensor& logits, int k, TopTokens& out);
  void draw_tokens(const Tensor& logits, std::span<const Token> ids, std::int64_t vocab,
                   std::span<const DrawRow> rows, int k, DrawnTokens& out);
  void verify(const StepPlan& plan, const DraftTrees& trees, const Batch& batch,
              const Tensor& logits, Walk& walk);

  // Bytes of the scratch that a search takes at most.
  static std::size_t workspace_bytes(const ForwardSize& size);

 private:
  // Of a search, there after read_back(): how many tokens, then each with its logit.
  struct Found {
    const std::uint32_t* words = nullptr;
    std::uint32_t most = 0;
    std::span<const std::uint32_t> of(std::size_t search) const {
      return {words + search * row_words(), row_words()};
    }
    std::size_t row_words() const { return 1 + 2 * std::size_t{most}; }
  };
  Found search(const Tensor& logits, std::span<const SearchAt> rows, std::uint32_t most,
               bool wants_chances);
  Tensor received(const Tensor& x);
  Tensor received_rows(const Tensor& x, std::span<const std::int32_t> rows);

  VulkanContext& context_;
  GpuArena& scratch_;
  Ops& host_;
  ThreadPool& pool_;
  std::vector<std::function<void()>> wanted_;
};

}  // namespace foretoken
