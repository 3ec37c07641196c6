#include "server/routes/openai/chat_plan.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "server/chat/chat_prompt.h"
#include "server/request/body_fields.h"
#include "server/request/prediction.h"
#include "server/request/prompt_plan.h"
#include "server/request/prompt_text.h"
#include "server/request/sampling_request.h"
#include "server/structured/call_constraint.h"
#include "server/structured/tool_grammar.h"

namespace foretoken {
namespace {

namespace json = boost::json;

void read_token_limit(Fields& fields, const ServerConfig& config, AskedPrompt& asked) {
  read_openai_length(fields, {"max_completion_tokens", "max_tokens"}, asked);
  if (const auto given = config.given_context_length; given > 0 && asked.max_new_tokens > given)
    fields.refuse(
        fmt::format("max_completion_tokens is too large: {}.This model supports at most {} "
                    "completion tokens.",
                    *asked.max_new_tokens, given));  // SGLang's text, to the missing space
}

void read_logprobs(Fields& fields, AskedPrompt& asked) {
  const bool wanted = fields.boolean("logprobs").value_or(false);
  const int alternatives = read_top_logprobs(fields, "top_logprobs", kMaxOpenAiLogprobs);
  if (wanted) asked.top_logprobs = alternatives;
  if (!wanted && alternatives > 0)
    fields.refuse("The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.");
}

void refuse_unsupported_fields(Fields& fields) {
  if (const auto* modalities = fields.array("modalities"))
    for (const auto& modality : *modalities)
      if (modality != "text") fields.refuse("modalities other than text are not supported");
}

// A call that is demanded binds the output to a list of calls.
std::optional<Refusal> demand_call(const Fields& body, const ChatPrompt& prompt,
                                   const PartWishes& wishes, AskedPrompt& asked) {
  if (!prompt.demands_call) return std::nullopt;
  if (asked.grammar)
    return Refusal{"tool_choice demands a call: " + asked.grammar->field +
                   " cannot stand beside it"};
  const json::value* tools = body.find("tools");
  auto schema = schema_of_calls(tools == nullptr ? json::array() : tools->get_array(),
                                prompt.named_tool, !wishes.parallel_calls);
  if (!schema) return schema.refusal();
  asked.grammar = GrammarRequest{.spec = {.kind = GrammarSpec::Kind::kJsonSchema,
                                          .source = *std::move(schema),
                                          .tail = GrammarSpec::Tail::kWhite},
                                 .field = "tool_choice"};
  return std::nullopt;
}

// What is thought before a bound answer is free, until the mark of the end and nothing else.
void free_thoughts(Dialogue& dialogue, AskedPrompt& asked) {
  ThoughtPlace& place = *asked.thought_place;
  if (!place.begins_inside && !place.may_open) {
    place = {};
    dialogue.reasoning = nullptr;
    return;
  }
  place.style = &uninterrupted(*place.style);
  if (dialogue.reasoning != nullptr) dialogue.reasoning = place.style;
}

}  // namespace

Result<GenerationPlan> plan_chat(ServerContext& context, Fields& body,
                                 const MakeChatFormat& make_format) {
  AskedPrompt asked;
  ChatAnswer answer{.common = read_openai_common(body, context, BodyKind::kChat, asked),
                    .wishes = read_part_wishes(body)};
  read_token_limit(body, context.config, asked);
  read_logprobs(body, asked);
  refuse_unsupported_fields(body);
  const bool add_special = body.boolean("add_special_tokens").value_or(false);
  if (body.fault()) return *body.fault();

  auto prompt = render_chat(context, body);
  if (!prompt) return prompt.refusal();
  const auto special = add_special ? AddSpecial::kYes : AddSpecial::kNo;
  auto tokens = prompt->tokens ? Result<std::vector<Token>>(*std::move(prompt->tokens))
                               : encode_prompt(context, prompt->text, special);
  if (!tokens) return tokens.refusal();
  asked.tokens = *std::move(tokens);
  auto prediction = read_prediction(context, body);
  if (!prediction) return prediction.refusal();
  asked.prediction = *std::move(prediction);

  answer.wishes.whole_calls = !answer.common.stream;
  if (const auto refusal = demand_call(body, *prompt, answer.wishes, asked)) return *refusal;
  const auto dialogue = dialogue_of(context, *prompt, answer.wishes);
  asked.thought_place = thoughts_of(context, *prompt, answer.wishes);
  if (asked.grammar) free_thoughts(*dialogue, asked);
  if (!asked.grammar && prompt->tools != nullptr) {
    auto calls = make_call_constraint(context, body.find("tools")->get_array(), *dialogue);
    if (!calls) return calls.refusal();
    asked.constraint = *std::move(calls);
  }
  if (needs_special_text(*dialogue, *context.tokenizer)) asked.skip_special_tokens = false;
  asked.dialogue = dialogue;
  GenerationPlan plan;
  plan.stream = answer.common.stream;
  plan.stream_interval = context.config.stream_interval;
  if (const auto refusal = add_prompt(context, std::move(asked), plan)) return *refusal;
  plan.format = make_format(std::move(answer));
  return plan;
}

}  // namespace foretoken
