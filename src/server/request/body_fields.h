#pragma once
// Fields that the bodies of several generating routes have, and limits that they share. Pure
// functions.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "server/context/server_config.h"
#include "server/json/json_fields.h"

namespace foretoken {

// Refuses a `rid` that is no name: over-long, or with control characters, which could forge lines
// of a log.
void check_request_id(Fields& fields, std::string_view id);

// Fields of every generating body: `extra_key` and `cache_salt` (separate prefix caches),
// `timeout_seconds` (an extension of ours: the request fails when it takes longer).
// Salts may be lists: then of prompt `at` of `prompts`.
std::uint64_t read_cache_salt(Fields& fields, std::size_t at = 0, std::size_t prompts = 1);
std::optional<std::chrono::steady_clock::time_point> read_deadline(Fields& fields,
                                                                   const ServerConfig& config);

// Reads a number of alternatives asked for: in [0, most].
int read_top_logprobs(Fields& fields, std::string_view name, std::int64_t most);

// Refuses lists of prompts that are longer than a request may be, before they are read.
std::optional<Refusal> check_batch_size(std::size_t prompts);

}  // namespace foretoken
