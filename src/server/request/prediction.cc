#include "server/request/prediction.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "server/chat/message_parts.h"
#include "server/request/prompt_text.h"

namespace foretoken {

Result<std::optional<std::vector<Token>>> read_prediction(const ServerContext& context,
                                                          Fields& body) {
  using Prediction = std::optional<std::vector<Token>>;
  const auto* object = body.object("prediction");
  if (object == nullptr) return Prediction{};
  Fields prediction(*object, body.path() + ".prediction", body.fault());
  prediction.require("type");
  const auto type = prediction.string("type");
  if (type && *type != "content")
    prediction.refuse_field("type", fmt::format("Input should be 'content' (found '{}')", *type));
  prediction.require("content");
  check_content(prediction, "");
  if (body.fault()) return *body.fault();
  const ServerConfig& config = context.config;
  if (!config.serves_predictions || context.tokenizer == nullptr) return Prediction{std::in_place};
  auto tokens = encode_text(context, text_of_content(prediction), AddSpecial::kNo);
  if (!tokens) {
    Refusal refusal = tokens.refusal();
    refusal.message = "prediction: " + refusal.message;
    return refusal;
  }
  const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(config.context_length, 0));
  tokens->resize(std::min(tokens->size(), limit));
  const auto strange = std::ranges::find_if(
      *tokens, [&](Token token) { return token < 0 || token >= config.vocab; });
  tokens->erase(strange, tokens->end());  // the model could never say it
  return Prediction{*std::move(tokens)};
}

}  // namespace foretoken
