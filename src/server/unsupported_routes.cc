#include "server/unsupported_routes.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "server/http/error_reply.h"

namespace foretoken {
namespace {

constexpr std::string_view kGenerates = "this model generates text";
constexpr std::string_view kChat = "use /v1/chat/completions";
constexpr std::string_view kText = "this model reads and writes text only";
constexpr std::string_view kWeights = "the weights are those of the start";
constexpr std::string_view kProfiler = "use an outside profiler";
constexpr std::string_view kAdapters = "adapters are not loaded";
constexpr std::string_view kMemory = "memory is held until the server ends";
constexpr std::string_view kCache = "the prefix cache lies in memory only, see /flush_cache";
constexpr std::string_view kExperts = "the use of experts is not recorded";

struct Unsupported {
  std::string_view path;  // ending in '/': all below it
  std::string_view reason;
};

constexpr Unsupported kUnsupported[] = {
    {"/encode", kGenerates},
    {"/classify", kGenerates},
    {"/v1/classify", kGenerates},
    {"/v1/rerank", kGenerates},
    {"/v1/messages/", "there are no batches"},
    {"/v1/audio/", kText},
    {"/v1/images/", kText},
    {"/v1/videos", kText},
    {"/v1/files", "there are no files"},
    {"/v1/batches", "there are no files"},
    {"/api/", "use /v1/chat/completions or /generate"},
    {"/invocations", kChat},
    {"/vertex_generate", "use /generate"},
    {"/generate_from_file", "use /generate"},
    {"/configure_logging", "settings are fixed at the start, see --log-requests"},
    {"/set_trace_level", "settings are fixed at the start"},
    {"/start_profile", kProfiler},
    {"/stop_profile", kProfiler},
    {"/slow_down", "use /pause_generation"},
    {"/freeze_gc", "no garbage is collected"},
    {"/load_lora_adapter", kAdapters},
    {"/load_lora_adapter_from_tensors", kAdapters},
    {"/unload_lora_adapter", kAdapters},
    {"/update_weights_from_disk", kWeights},
    {"/update_weights_from_tensor", kWeights},
    {"/update_weights_from_distributed", kWeights},
    {"/update_weights_from_ipc", kWeights},
    {"/init_weights_update_group", kWeights},
    {"/destroy_weights_update_group", kWeights},
    {"/init_weights_send_group_for_remote_instance", kWeights},
    {"/send_weights_to_remote_instance", kWeights},
    {"/get_remote_instance_transfer_engine_info", kWeights},
    {"/remote_instance_transfer_engine_info", kWeights},
    {"/get_weights_by_name", "weights are not given out"},
    {"/weights_checker", "weights are not given out"},
    {"/release_memory_occupation", kMemory},
    {"/resume_memory_occupation", kMemory},
    {"/clear_hicache_storage_backend", kCache},
    {"/hicache/", kCache},
    {"/start_expert_distribution_record", kExperts},
    {"/stop_expert_distribution_record", kExperts},
    {"/dump_expert_distribution_record", kExperts},
};

}  // namespace

void add_unsupported_routes(Router& router) {
  for (const auto& [path, reason] : kUnsupported) {
    Route route{
        .methods = {"GET", "POST", "PUT", "DELETE"}, .path = std::string(path), .handler = {}};
    route.is_light = true;
    route.takes_json = false;
    route.matches_below = path.ends_with('/');
    route.handler = [reason](const std::shared_ptr<Exchange>& exchange) {
      const std::string& asked = exchange->request().path;
      exchange->reply(error_reply(error_style_of(asked),
                                  {fmt::format("{} is not supported: {}", asked, reason), 400}));
    };
    router.add(std::move(route));
  }
}

}  // namespace foretoken
