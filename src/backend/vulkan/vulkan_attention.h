#pragma once
// Rotation, store and attention on a device: what shaders want to know of a batch, sent once for
// all layers. Same threads and lifetimes as Ops.

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/attention_shape.h"
#include "backend/kv_shape.h"
#include "backend/ops/step_ops.h"
#include "backend/rope_table.h"
#include "backend/vulkan/context.h"
#include "batch/batch.h"

namespace foretoken {

class VulkanAttention {
 public:
  static constexpr int kMostDims = 1024;  // of a head
  // Of all rows and heads of a call: what their states take is bounded.
  static constexpr std::int64_t kMostParts = 16384;

  explicit VulkanAttention(VulkanContext& context) : context_(context) {}

  // Throws Error: keys and values of this shape are not held.
  static void expect_holds(const KvShape& shape);

  // A new frame of the recorder has begun: what was sent is gone.
  void forget();

  void store(Tensor qkv, const RopeTable& rope, const QkNorm& norm, const AttentionShape& shape,
             const Batch& batch, const KvLayer& kv, Tensor q);
  void store_latent(const LatentRows& latent, const RopeTable& rope, const AttentionShape& shape,
                    const Batch& batch, const KvLayer& kv, Tensor q);
  const AttentionPlan& plan(const AttentionShape& shape, const Batch& batch);
  // rounded: where the result is written as products take it, too; 0: nowhere.
  void run(Tensor q, const KvLayer& kv, const AttentionPlan& plan, Tensor out, Address rounded,
           GpuArena& scratch);
  void move(const Walk& walk, const Batch& batch, std::span<const KvLayer> layers);

 private:
  // Positions and slots of rows that shaders can read.
  struct Places {
    std::vector<std::int32_t> position, slot;
    Address positions = 0, slots = 0;
  };
  const Places& places_of(const Batch& batch);

  VulkanContext& context_;
  std::vector<Places> places_;
  std::vector<std::unique_ptr<AttentionPlan>> plans_;
};

}  // namespace foretoken
