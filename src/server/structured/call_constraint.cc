#include "server/structured/call_constraint.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <boost/json/serialize.hpp>

#include "base/log.h"
#include "server/structured/call_grammar.h"
#include "text/dialogue/marks.h"
#include "text/dialogue/python_list.h"

namespace foretoken {
namespace {

namespace json = boost::json;
using Source = std::shared_ptr<const ConstraintSource>;

constexpr std::chrono::seconds kMostLoosening{5};

json::object any_object() { return {{"type", "object"}}; }

BoundTool asked_tool(const json::object& function, bool binds_all) {
  BoundTool asked;
  asked.name = function.at("name").get_string();
  const json::value* strict = function.if_contains("strict");
  asked.is_strict = strict != nullptr && strict->is_bool() && strict->get_bool();
  const json::value* schema = function.if_contains("parameters");
  asked.schema = any_object();
  if ((binds_all || asked.is_strict) && schema != nullptr && schema->is_object() &&
      !schema->get_object().empty())
    asked.schema = schema->get_object();
  if (!asked.schema.contains("type")) asked.schema["type"] = "object";
  return asked;
}

Result<std::shared_ptr<const GrammarParts>> compile(ServerContext& context, const CallStyle& style,
                                                    std::span<const BoundTool> tools) {
  auto source = call_grammar(style, tools);
  if (!source) return source.refusal();
  return grammar_parts(context,
                       {.spec = {.kind = GrammarSpec::Kind::kStructuralTag,
                                 .source = *std::move(source),
                                 .layout = context.config.json_layout,
                                 .tail = GrammarSpec::Tail::kAny,
                                 .is_balanced = !style.takes_python && !style.tagged &&
                                                !style.elements && !style.loose},
                        .field = "strict"},
                       {});
}

// Schemas that cannot be compiled bind nothing but that there is an object. Refused: one of a
// strict tool, and more work than one grammar may take.
std::optional<Refusal> loosen(ServerContext& context, std::vector<BoundTool>& asked) {
  const auto begin = std::chrono::steady_clock::now();
  for (BoundTool& one : asked) {
    if (std::chrono::steady_clock::now() - begin > kMostLoosening)
      return Refusal{"the schemas of the tools take too long to be compiled"};
    const auto grammar = context.grammars->compile({.kind = GrammarSpec::Kind::kJsonSchema,
                                                    .source = json::serialize(one.schema),
                                                    .layout = context.config.json_layout});
    if (grammar) continue;
    if (one.is_strict)
      return Refusal{fmt::format("the parameters of the strict tool '{}' cannot be used: {}",
                                 one.name, grammar.refusal().message)};
    one.schema = any_object();
  }
  return std::nullopt;
}

}  // namespace

CallConstraint::CallConstraint(std::shared_ptr<const CallParts> parts)
    : parts_(std::move(parts)),
      may_begin_bare_(!parts_->bare.begins.empty()),
      is_open_(parts_->marks.is_open),
      inside_(parts_->marks.calls) {
  inside_.push_back(parts_->marks.closes);
  if (parts_->reasoning != nullptr) thoughts_.emplace(*parts_->reasoning, parts_->begins_inside);
}

bool CallConstraint::has_failed() {
  if (call_->fault().empty()) return false;
  if (parts_->is_strict) {
    fault_ = call_->fault();
  } else {
    call_.reset();
    calls_ = kMaxCalls;  // no more are bound
  }
  return true;
}

std::span<const std::uint32_t> CallConstraint::allowed() {
  if (call_ == nullptr) return {};
  const auto words = call_->allowed();
  return has_failed() ? std::span<const std::uint32_t>() : words;
}

int CallConstraint::count_allowed(std::span<const Token> tokens) {
  const int all = static_cast<int>(tokens.size());
  if (call_ == nullptr) return all;
  const int count = call_->count_allowed(tokens);
  return has_failed() ? all : count;
}

std::vector<Token> CallConstraint::foreseen() {
  if (call_ == nullptr) return {};
  auto tokens = call_->foreseen();
  return has_failed() ? std::vector<Token>() : std::move(tokens);
}

void CallConstraint::advance(Token token) {
  if (call_ != nullptr) {
    call_->advance(token);
    if (!has_failed() && call_->has_ended()) end_call(parts_->call->tokenizer.piece(token), token);
    return;
  }
  if (calls_ == kMaxCalls) return;
  const std::string_view piece = parts_->call->tokenizer.piece(token);
  if (!thoughts_) return read(piece, token);
  const std::string text = thoughts_->push(piece);
  if (!thoughts_->is_over()) return;
  thoughts_.reset();
  read(text, token);
}

void CallConstraint::read(std::string_view text, Token last) {
  if (may_begin_bare_ && begins_bare(text, last)) return;
  held_ += text;
  if (is_between_) {
    while (!held_.empty() &&
           (is_white(held_.front()) || parts_->between.find(held_.front()) != std::string::npos))
      held_.erase(0, 1);
    if (held_.empty()) return;
    is_between_ = false;
    if (held_.front() == '{') return begin_call(std::exchange(held_, {}), last);
  }
  const CallMarks& marks = parts_->marks;
  if (parts_->python_tools != nullptr) return read_python(last);
  if (marks.calls.empty()) return held_.clear();
  for (;;) {
    const auto& wanted = is_open_ ? inside_ : marks.opens;
    const FoundMark found = find_mark(held_, wanted);
    if (found.at == std::string::npos) {
      held_.erase(0, held_.size() - unfinished_mark(held_, wanted));
      return;
    }
    held_.erase(0, found.at + wanted[found.which].size());
    if (is_open_ && found.which < marks.calls.size())
      return begin_call(std::exchange(held_, {}), last);
    is_open_ = !is_open_;
  }
}

void CallConstraint::read_python(Token last) {
  const PythonList list = find_python_list(held_, parts_->marks.calls, *parts_->python_tools);
  held_.erase(0, list.at + (list.begins ? list.size : 0));
  if (list.begins) begin_call(std::exchange(held_, {}), last);
}

bool CallConstraint::begins_bare(std::string_view text, Token last) {
  constexpr std::size_t kMostText = 4096;  // until it names a tool
  if (bare_ == nullptr) {
    text.remove_prefix(leading_white(text));
    if (text.empty()) return false;
    if (parts_->bare.begins.find(text.front()) != std::string_view::npos)
      bare_ = started(text, last);
  } else if (bare_->allows(last)) {
    bare_->advance(last);
  } else {
    bare_.reset();
  }
  bare_text_ += text;
  may_begin_bare_ = bare_ != nullptr && bare_text_.size() < kMostText;
  const bool is_call = may_begin_bare_ && std::ranges::any_of(parts_->bare.signs, [&](auto& sign) {
                         return bare_text_.find(sign) != std::string::npos;
                       });
  if (is_call) {
    may_begin_bare_ = false;
    held_.clear();
    follow(std::move(bare_), text, last);
  } else if (!may_begin_bare_) {
    bare_.reset();
  }
  return is_call;
}

// text: what the last token holds of it. Null: no call begins so.
std::unique_ptr<GrammarConstraint> CallConstraint::started(std::string_view text,
                                                           Token last) const {
  auto call = std::make_unique<GrammarConstraint>(parts_->call);
  return text.empty() || call->take(text, last) ? std::move(call) : nullptr;
}

void CallConstraint::begin_call(const std::string& text, Token last) {
  may_begin_bare_ = false;
  bare_.reset();
  if (auto call = started(text, last)) follow(std::move(call), text, last);
}

void CallConstraint::follow(std::unique_ptr<GrammarConstraint> call, std::string_view text,
                            Token last) {
  call_ = std::move(call);
  ++calls_;
  if (!has_failed() && call_->has_ended()) end_call(text, last);
}

// text: of the last token, or its end.
void CallConstraint::end_call(std::string_view text, Token last) {
  const auto behind = text.substr(text.size() - std::min(call_->beyond(), text.size()));
  call_.reset();
  is_between_ = !parts_->between.empty();
  if (!behind.empty() && calls_ < kMaxCalls) read(behind, last);
}

Result<Source> make_call_constraint(ServerContext& context, const json::array& tools,
                                    const Dialogue& dialogue) {
  std::vector<BoundTool> asked;
  for (const json::value& tool : tools)
    asked.push_back(asked_tool(tool.at("function").get_object(), context.config.binds_arguments));
  const bool is_strict = std::ranges::any_of(asked, &BoundTool::is_strict);
  if (asked.empty() || (!is_strict && !context.config.binds_arguments)) return Source();
  const CallMarks marks = dialogue.calls == nullptr ? CallMarks() : call_marks(*dialogue.calls);
  if (dialogue.calls == nullptr || (marks.calls.empty() && dialogue.calls->bare.empty())) {
    if (is_strict && !context.warned_of_strict.exchange(true))
      log_warning("Tools are strict, but calls in the format of {} are not bound to schemas.",
                  dialogue.calls == nullptr ? "this model" : dialogue.calls->name);
    return Source();
  }
  if (context.grammars == nullptr) {
    if (!is_strict) return Source();
    return Refusal{"strict tools are not supported: this server runs with --grammar-backend none"};
  }
  auto parts = compile(context, *dialogue.calls, asked);
  if (!parts) {
    if (const auto refusal = loosen(context, asked))
      return is_strict ? Result<Source>(*refusal) : Result<Source>(Source());
    parts = compile(context, *dialogue.calls, asked);
  }
  if (!parts && !is_strict) return Source();
  if (!parts) return parts.refusal();
  CallParts all{
      .call = *std::move(parts), .marks = marks, .bare = bare_calls(*dialogue.calls, asked)};
  if (dialogue.calls->call_end.empty() && !dialogue.calls->named)
    all.between = dialogue.calls->between;
  if (dialogue.calls->takes_python) {
    all.python_tools = dialogue.call_options.tools;
    std::erase(all.between, '[');  // begins the next list
  }
  if (!dialogue.calls->has_channels) all.reasoning = dialogue.reasoning;
  all.begins_inside = dialogue.begins_inside;
  all.is_strict = is_strict;
  return Source(std::make_shared<const CallSource>(std::move(all)));
}

}  // namespace foretoken
