#pragma once
// What this server makes of the fields that bodies of generating requests have, here and on other
// servers: read; accepted because they cannot change an answer; refused by name because they would
// change it and are not honoured. An unknown field is accepted and named once in the log. Not the
// readers: those of the routes look at the values of what is read.

#include <cstddef>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "server/json/json_fields.h"

namespace foretoken {

enum class BodyKind : unsigned {
  kChat = 1,
  kCompletion = 2,
  kGenerate = 4,
  kMessages = 8,
  kResponses = 16,
  kInfill = 32,
  kEmbedding = 64
};

// Names of unknown fields that were logged. Bounded, since clients choose them. Thread-safe.
class UnknownFields {
 public:
  // True: this name is new and should be logged, as shown_name().
  bool is_news(std::string_view name);
  std::size_t size() const;

  static constexpr std::size_t kMostNames = 64;
  static constexpr std::size_t kMostBytes = 64;  // of a name that is shown

  // Cut, and without bytes that could end a line of the log or steer a terminal.
  static std::string shown_name(std::string_view name);

 private:
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> names_;
};

// Fields of a chat that /v1/messages and /v1/responses have by the same names, with the same
// meaning.
std::span<const std::string_view> shared_chat_fields();

// Refuses the first field that would change the answer and is not honoured, unless its value asks
// for what is the case anyway (null, false, an empty list, a penalty of 1, ...).
void check_known_fields(Fields& fields, BodyKind kind, UnknownFields& unknown);

}  // namespace foretoken
