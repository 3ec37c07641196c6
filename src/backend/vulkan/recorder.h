#pragma once
// Recorder: the one queue of a device, as a list of calls that are done in order: shaders, copies,
// small arrays of the host's on their way to them, results on their way back.
//
//   dispatch, copy, fill -> command buffer --(every kCallsOfSubmit calls)--> queue -> wait()
//   send(bytes) -> memory of the frame, which shaders read by address
//
// A frame is what a step needs: command buffers and sent bytes. There are two, in turns, so the
// host writes the next step while the device works on the last one. Before each call there is a
// barrier: it sees all that was written before. One thread at a time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backend/vulkan/gpu.h"
#include "backend/vulkan/pipelines.h"

namespace foretoken {

class Recorder {
 public:
  explicit Recorder(Gpu& gpu);
  ~Recorder();  // waits
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Starts a new frame: sent bytes and received ones of the last but one are gone.
  void begin_frame();

  struct Groups {
    std::int64_t x = 1, y = 1;
  };
  // `call`: the shader's push constants, of kPushBytes at most.
  void dispatch(const Pipeline& pipeline, const void* call, std::size_t bytes, Groups groups);
  template <typename Call>
  void dispatch(const Pipeline& pipeline, const Call& call, Groups groups) {
    static_assert(sizeof(Call) <= kPushBytes);
    dispatch(pipeline, &call, sizeof call, groups);
  }
  void copy(Address from, Address to, std::size_t bytes);
  void fill_zero(const GpuBlock& block);

  // Room for bytes that later calls of this frame read: the host writes them before the next call.
  struct Sent {
    std::byte* host;
    Address address;
  };
  Sent room(std::size_t bytes);
  Address send(const void* bytes, std::size_t count);
  template <typename T>
  Address send(std::span<T> values) {
    return send(values.data(), values.size_bytes());
  }

  // Memory of the host's that has these bytes of the device's after wait(), until begin_frame() was
  // called twice.
  std::byte* receive(Address from, std::size_t bytes);
  // Of all calls of it so far.
  std::uint64_t received_bytes() const { return received_bytes_; }

  // Hands all calls so far to the device; wait() until they are done, too.
  void submit();
  void wait();
  // The same before memory is given back; a device that is lost uses none.
  void wait_at_end() noexcept;

 private:
  static constexpr int kCallsOfFirst = 8;    // of a frame: the device starts soon
  static constexpr int kCallsOfSubmit = 64;  // desktops reset devices that work for seconds

  // Memory given out piece by piece until it is reset.
  struct Stage {
    MemoryUse use;
    std::vector<std::unique_ptr<GpuBlock>> blocks = {};
    std::size_t block = 0, used = 0;
    Sent take(Gpu& gpu, std::size_t bytes);
  };
  struct Frame {
    VkCommandPool pool = VK_NULL_HANDLE;
    std::vector<VkCommandBuffer> buffers = {};
    std::size_t used = 0;         // of them
    std::uint64_t submitted = 0;  // the timeline's value when all of it is done
    Stage sent{MemoryUse::kSend}, received{MemoryUse::kReceive};
  };

  VkCommandBuffer commands();  // that are being recorded
  static constexpr VkPipelineStageFlags kWork =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  void barrier(VkPipelineStageFlags then, VkAccessFlags access);
  void end_call();
  void wait_for(std::uint64_t value);

  Gpu& gpu_;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  std::uint64_t last_ = 0;  // value of the last submit
  std::array<Frame, 2> frames_;
  std::size_t frame_ = 0;
  bool is_recording_ = false;
  int calls_ = 0;  // in the command buffer
  std::uint64_t received_bytes_ = 0;
};

}  // namespace foretoken
