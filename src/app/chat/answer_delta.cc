#include "app/chat/answer_delta.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/json_fields.h"
#include "base/json_text.h"

namespace foretoken {
namespace {

// Wrong types read as absent: another server may mean something else by a field.
class Lenient final : public JsonFields {
 public:
  using JsonFields::JsonFields;
  std::string text(std::string_view name) const { return string(name).value_or(std::string()); }
  std::int64_t count(std::string_view name) const { return integer(name, kAnyInteger).value_or(0); }

 private:
  void wrong_type(std::string_view, JsonType, IntRange) const override {}
};

std::string bytes_of(const Lenient& token) {
  if (token.boolean("special").value_or(false)) return {};
  const auto bytes = token.integers("bytes", {0, 255});
  if (!bytes) return token.text("text");
  return {bytes->begin(), bytes->end()};
}

// The first drafter of the draft that a token was; empty: it was none.
std::string drafter_of(const Lenient& token, const boost::json::array* drafts) {
  const auto at = token.integer("draft", kAnyInteger);
  if (!at || drafts == nullptr || *at < 0 || static_cast<std::size_t>(*at) >= drafts->size())
    return {};
  const auto* draft = (*drafts)[static_cast<std::size_t>(*at)].if_object();
  if (draft == nullptr) return {};
  const auto names = Lenient(*draft).strings("drafters");
  return names && !names->empty() ? names->front() : "draft";
}

void add_step(const boost::json::object& object, std::vector<ToldToken>& tokens) {
  const Lenient step(object);
  const auto* drafts = step.array("drafts");
  const auto* output = step.array("output");
  if (output == nullptr) return;
  for (const auto& each : *output)
    if (const auto* token = each.if_object())
      tokens.push_back({bytes_of(Lenient(*token)), drafter_of(Lenient(*token), drafts)});
}

ToldReport report_of(const Lenient& told) {
  ToldReport report;
  report.verify_steps = told.count("verify_steps");
  if (const auto depths = told.integers("accepted_by_depth", kAnyInteger))
    for (const auto count : *depths) report.accepted += count;
  if (const auto* drafters = told.object("drafters"))
    for (const auto& [name, value] : *drafters)
      if (const auto* tally = value.if_object())
        report.drafters.push_back({std::string(name), Lenient(*tally).count("proposed"),
                                   Lenient(*tally).count("accepted")});
  return report;
}

void read_choice(const Lenient& choice, AnswerDelta& out) {
  out.finish = choice.text("finish_reason");
  if (const auto* delta = choice.object("delta")) {
    out.content = Lenient(*delta).text("content");
    out.reasoning = Lenient(*delta).text("reasoning_content");
  }
  const auto* object = choice.object("speculative");
  if (object == nullptr) return;
  const Lenient told(*object);
  if (const auto* steps = told.array("trace"))
    for (const auto& step : *steps)
      if (const auto* each = step.if_object()) add_step(*each, out.tokens);
  if (told.has("verify_steps")) out.report = report_of(told);
}

std::string error_in(const Lenient& body) {
  if (const auto* error = body.object("error")) return Lenient(*error).text("message");
  if (body.has("error")) return body.text("error");
  return body.text("object") == "error" ? body.text("message") : std::string();
}

std::optional<boost::json::value> object_of(std::string_view json) {
  JsonFault fault;
  auto value = parse_json(json, fault);
  if (!value || !value->is_object()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<AnswerDelta> read_answer_delta(std::string_view json) {
  const auto value = object_of(json);
  if (!value) return std::nullopt;
  const Lenient body(value->get_object());
  AnswerDelta out;
  out.error = error_in(body);
  if (out.error.empty() && body.has("error")) out.error = "the server tells no reason";
  if (const auto* choices = body.array("choices"); choices != nullptr && !choices->empty())
    if (const auto* choice = choices->front().if_object()) read_choice(Lenient(*choice), out);
  if (const auto* usage = body.object("usage"))
    out.completion_tokens = Lenient(*usage).integer("completion_tokens", kAnyInteger);
  return out;
}

std::string error_of_body(std::string_view json) {
  const auto value = object_of(json);
  return value ? error_in(Lenient(value->get_object())) : std::string();
}

}  // namespace foretoken
