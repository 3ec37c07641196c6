// POST /infill: llama.cpp's route for editors, which fills in what stands between input_prefix and
// input_suffix. The fields that choose tokens are those of /v1/completions.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/json/json_lists.h"
#include "server/request/generate_from_body.h"
#include "server/request/infill.h"
#include "server/request/prompt_plan.h"
#include "server/request/prompt_text.h"
#include "server/request/sampling_request.h"
#include "server/routes/openai/api.h"
#include "server/routes/openai/types.h"

namespace foretoken {
namespace {

// Words answers as llama.cpp's /completion does.
class InfillFormat final : public AnswerFormat {
 public:
  explicit InfillFormat(std::string model) : model_(std::move(model)) {}

  void write_event(const RunningChoice& choice, std::string& out) override {
    const bool is_over = choice.choice.is_finished();
    if (is_over && write_failure_event(choice.choice, out)) return;
    append_event(out, piece(choice, choice.shown_text));
  }
  void write_ending(const std::vector<RunningChoice>&, std::string&) override {}
  bool ends_with_done() const override { return false; }
  HttpReply whole(const std::vector<RunningChoice>& choices) override {
    return {.body = piece(choices.front(), 0)};
  }

 private:
  std::string piece(const RunningChoice& choice, std::size_t from) const {
    const auto& end = choice.choice.end();
    JsonWriter json;
    json.begin_object().field("index", choice.index);
    json.field("content", choice.choice.text().substr(from)).field("stop", end.has_value());
    json.field("model", model_).field("tokens_predicted", choice.choice.tokens().size());
    json.field("tokens_evaluated", choice.prompt_tokens);
    if (end) {
      json.field("tokens_cached", choice.choice.counters().cached_tokens);
      json.field("truncated", false);
      const bool is_word = end->matched_text.has_value();
      json.field("stop_type", end->kind == ChoiceEnd::Kind::kStop     ? (is_word ? "word" : "eos")
                              : end->kind == ChoiceEnd::Kind::kLength ? "limit"
                                                                      : "none");
      json.field("stopping_word", end->matched_text.value_or(""));
    }
    json.end_object();
    return json.take();
  }

  std::string model_;
};

std::vector<InfillFile> read_files(Fields& body) {
  std::vector<InfillFile> files;
  each_object(body, "input_extra", [&](Fields& file) {
    files.push_back({file.string("filename").value_or("tmp"), required_text(file, "text")});
  });
  return files;
}

Result<GenerationPlan> plan_infill(ServerContext& context, Fields& body) {
  AskedPrompt asked;
  OpenAiCommon common = read_openai_common(body, context, BodyKind::kInfill, asked);
  read_openai_length(body, {"max_tokens"}, asked);
  body.require("input_prefix");
  body.require("input_suffix");
  const std::string after = body.string("input_suffix").value_or("");
  // What the user has typed goes on from the prefix.
  const std::string before =
      body.string("input_prefix").value_or("") + body.string("prompt").value_or("");
  InfillParts parts{.files = read_files(body), .after = after};
  if (asked.n != 1) body.refuse("n is not supported: there is one answer");
  if (body.fault()) return *body.fault();
  auto tokens = encode_text(context, before, AddSpecial::kNo);
  if (!tokens) return tokens.refusal();
  parts.before = *std::move(tokens);
  auto prompt = infill_prompt(context, parts);
  if (!prompt) return prompt.refusal();
  use_infill(*std::move(prompt), asked);

  GenerationPlan plan;
  plan.stream = common.stream;
  plan.stream_interval = context.config.stream_interval;
  if (const auto refusal = add_prompt(context, std::move(asked), plan)) return *refusal;
  plan.format = std::make_unique<InfillFormat>(std::move(common.model));
  return plan;
}

}  // namespace

void handle_infill(ServerContext& context, const std::shared_ptr<Exchange>& exchange) {
  generate_from_body(context, exchange, ErrorStyle::kNative, plan_infill);
}

}  // namespace foretoken
