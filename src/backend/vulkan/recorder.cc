#include "backend/vulkan/recorder.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/index.h"
#include "base/log.h"

namespace foretoken {

Recorder::Recorder(Gpu& gpu) : gpu_(gpu) {
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo semaphore{};
  semaphore.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  semaphore.pNext = &type;
  check_vulkan(gpu.api().vkCreateSemaphore(gpu.device(), &semaphore, nullptr, &timeline_),
               "vkCreateSemaphore");
  for (Frame& frame : frames_) {
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.queueFamilyIndex = gpu.family();
    check_vulkan(gpu.api().vkCreateCommandPool(gpu.device(), &pool, nullptr, &frame.pool),
                 "vkCreateCommandPool");
  }
}

Recorder::~Recorder() {
  gpu_.api().vkDeviceWaitIdle(gpu_.device());
  for (const Frame& frame : frames_)
    gpu_.api().vkDestroyCommandPool(gpu_.device(), frame.pool, nullptr);
  gpu_.api().vkDestroySemaphore(gpu_.device(), timeline_, nullptr);
}

void Recorder::begin_frame() {
  submit();
  frame_ = 1 - frame_;
  Frame& frame = frames_[frame_];
  wait_for(frame.submitted);
  check_vulkan(gpu_.api().vkResetCommandPool(gpu_.device(), frame.pool, 0), "vkResetCommandPool");
  frame.used = 0;
  for (Stage* stage : {&frame.sent, &frame.received}) stage->block = stage->used = 0;
}

VkCommandBuffer Recorder::commands() {
  Frame& frame = frames_[frame_];
  if (is_recording_) return frame.buffers[frame.used - 1];
  if (frame.used == frame.buffers.size()) {
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = frame.pool;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    VkCommandBuffer made = nullptr;
    check_vulkan(gpu_.api().vkAllocateCommandBuffers(gpu_.device(), &info, &made),
                 "vkAllocateCommandBuffers");
    frame.buffers.push_back(made);
  }
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check_vulkan(gpu_.api().vkBeginCommandBuffer(frame.buffers[frame.used], &begin),
               "vkBeginCommandBuffer");
  ++frame.used;
  is_recording_ = true;
  calls_ = 0;
  return frame.buffers[frame.used - 1];
}

// What comes behind it sees what was written before it, and writes after it was read.
void Recorder::barrier(VkPipelineStageFlags then, VkAccessFlags access) {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = access;
  gpu_.api().vkCmdPipelineBarrier(commands(), kWork, then, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void Recorder::end_call() {
  barrier(kWork, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                     VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
  const bool is_first = frames_[frame_].used == 1;
  if (++calls_ == (is_first ? kCallsOfFirst : kCallsOfSubmit)) submit();
}

void Recorder::dispatch(const Pipeline& pipeline, const void* call, std::size_t bytes,
                        Groups groups) {
  if (groups.x == 0 || groups.y == 0) return;
  CHECK(groups.x <= kMostGroups && groups.y <= kMostGroups) << groups.x << " x " << groups.y;
  const VkCommandBuffer to = commands();
  gpu_.api().vkCmdBindPipeline(to, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
  gpu_.api().vkCmdPushConstants(to, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                static_cast<std::uint32_t>(round_up(bytes, std::size_t{4})), call);
  gpu_.api().vkCmdDispatch(to, static_cast<std::uint32_t>(groups.x),
                           static_cast<std::uint32_t>(groups.y), 1);
  end_call();
}

void Recorder::copy(Address from, Address to, std::size_t bytes) {
  if (bytes == 0) return;
  const Gpu::Place source = gpu_.place(from), target = gpu_.place(to);
  CHECK(source.offset + bytes <= source.block->bytes());
  CHECK(target.offset + bytes <= target.block->bytes());
  const VkBufferCopy region{source.offset, target.offset, bytes};
  gpu_.api().vkCmdCopyBuffer(commands(), source.block->buffer(), target.block->buffer(), 1,
                             &region);
  end_call();
}

void Recorder::fill_zero(const GpuBlock& block) {
  gpu_.api().vkCmdFillBuffer(commands(), block.buffer(), 0, VK_WHOLE_SIZE, 0);
  end_call();
}

Recorder::Sent Recorder::Stage::take(Gpu& gpu, std::size_t bytes) {
  constexpr std::size_t kBlock = std::size_t{1} << 20, kStep = 64;
  bytes = round_up(std::max(bytes, kStep), kStep);
  while (block < blocks.size() && used + bytes > blocks[block]->bytes()) ++block, used = 0;
  if (block == blocks.size())
    blocks.push_back(std::make_unique<GpuBlock>(gpu, std::max(bytes, kBlock), use));
  const Sent taken{blocks[block]->host() + used, blocks[block]->address() + used};
  used += bytes;
  return taken;
}

Recorder::Sent Recorder::room(std::size_t bytes) { return frames_[frame_].sent.take(gpu_, bytes); }

Address Recorder::send(const void* bytes, std::size_t count) {
  const Sent to = room(count);
  if (count > 0) std::memcpy(to.host, bytes, count);
  return to.address;
}

std::byte* Recorder::receive(Address from, std::size_t bytes) {
  const Sent to = frames_[frame_].received.take(gpu_, bytes);
  copy(from, to.address, bytes);
  received_bytes_ += bytes;
  return to.host;
}

void Recorder::submit() {
  if (!is_recording_) return;
  Frame& frame = frames_[frame_];
  const VkCommandBuffer buffer = frame.buffers[frame.used - 1];
  barrier(VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  is_recording_ = false;
  check_vulkan(gpu_.api().vkEndCommandBuffer(buffer), "vkEndCommandBuffer");
  const std::uint64_t value = last_ + 1;
  VkTimelineSemaphoreSubmitInfo timeline{};
  timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &value;
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.pNext = &timeline;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &buffer;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &timeline_;
  check_vulkan(gpu_.api().vkQueueSubmit(gpu_.queue(), 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
  last_ = frame.submitted = value;
}

void Recorder::wait_for(std::uint64_t value) {
  VkSemaphoreWaitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &value;
  check_vulkan(gpu_.api().vkWaitSemaphores(gpu_.device(), &info, UINT64_MAX), "vkWaitSemaphores");
}

void Recorder::wait_at_end() noexcept {
  try {
    wait();
  } catch (const std::exception& failure) {
    log_debug("Nothing was waited for: {}.", failure.what());
  }
}

void Recorder::wait() {
  submit();
  wait_for(last_);
}

}  // namespace foretoken
