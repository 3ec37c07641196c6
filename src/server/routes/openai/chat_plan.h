#pragma once
// From a chat body to what is generated for it: what /v1/chat/completions and the routes that are
// worded differently (/v1/messages, /v1/responses) have in common. Those make a chat body of their
// own first. Thread-safe.

#include <functional>
#include <memory>

#include "server/chat/answer_style.h"
#include "server/json/json_fields.h"
#include "server/request/generation.h"
#include "server/routes/openai/types.h"

namespace foretoken {

// What a format of chats is made of.
struct ChatAnswer {
  OpenAiCommon common;
  PartWishes wishes;
};

using MakeChatFormat = std::function<std::unique_ptr<AnswerFormat>(ChatAnswer answer)>;

Result<GenerationPlan> plan_chat(ServerContext& context, Fields& body,
                                 const MakeChatFormat& make_format);

}  // namespace foretoken
