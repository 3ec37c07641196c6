#include "server/request/infill.h"

#include <algorithm>
#include <array>
#include <utility>

#include "server/request/prompt_text.h"

namespace foretoken {
namespace {

// Marks before the text before the gap, before the text behind it, and where the middle is to be
// written (empty: where the prompt ends).
struct Style {
  std::string_view before, after, middle;
  bool after_first = false;  // the text behind the gap comes first
};

constexpr std::array<Style, 7> kStyles{{
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
    {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},
    {"▁<PRE>", "▁<SUF>", "▁<MID>"},
    {"<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>", true},
    {"[PREFIX]", "[SUFFIX]", "", true},
}};

// What models write behind the middle.
constexpr std::array<std::string_view, 11> kEnds{
    "<|endoftext|>",         "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>",
    "<|file_separator|>",    "<fim_pad>",   "<file_sep>",    "<|cursor|>",
    "<｜end▁of▁sentence｜>", "▁<EOT>",      "<|EOT|>"};

struct Marks {
  Token before, after;
  std::optional<Token> middle;
  bool after_first;
};

std::optional<Marks> find_marks(const Tokenizer& tokenizer) {
  for (const Style& style : kStyles) {
    const auto before = tokenizer.token_id(style.before), after = tokenizer.token_id(style.after);
    const auto middle = style.middle.empty() ? std::nullopt : tokenizer.token_id(style.middle);
    if (before && after && (middle || style.middle.empty()))
      return Marks{*before, *after, middle, style.after_first};
  }
  return std::nullopt;
}

void append(std::vector<Token>& to, const std::vector<Token>& tokens) {
  to.insert(to.end(), tokens.begin(), tokens.end());
}

std::optional<Refusal> append_text(const ServerContext& context, std::string_view text,
                                   std::vector<Token>& to) {
  auto tokens = encode_text(context, text, AddSpecial::kNo);
  if (!tokens) return tokens.refusal();
  append(to, *tokens);
  return std::nullopt;
}

// Files as repositories are written for models that have a mark between files; else as snippets.
std::optional<Refusal> append_files(const ServerContext& context,
                                    const std::vector<InfillFile>& files, std::vector<Token>& to) {
  std::optional<Token> separator;
  for (const char* mark : {"<|file_sep|>", "<|file_separator|>", "<file_sep>"})
    if (!separator) separator = context.tokenizer->token_id(mark);
  for (const InfillFile& file : files) {
    if (separator) to.push_back(*separator);
    const std::string head = separator ? file.name + "\n" : "\n\n--- " + file.name + " ---\n\n";
    if (auto refusal = append_text(context, head + file.text, to)) return refusal;
  }
  return std::nullopt;
}

}  // namespace

void use_infill(InfillPrompt prompt, AskedPrompt& asked) {
  asked.tokens = std::move(prompt.tokens);
  if (asked.ignore_eos) return;
  auto& ids = asked.stop_token_ids;
  append(ids, prompt.stops);
  std::ranges::sort(ids);
  const auto twice = std::ranges::unique(ids);
  ids.erase(twice.begin(), twice.end());
}

Result<InfillPrompt> infill_prompt(const ServerContext& context, const InfillParts& parts) {
  const auto marks = context.tokenizer == nullptr ? std::nullopt : find_marks(*context.tokenizer);
  if (!marks)
    return Refusal{
        "suffix is not supported: this model's tokenizer has no marks to fill in the middle"};
  // Nothing but what stands at the beginning of every prompt.
  auto begin = encode_text(context, "", AddSpecial::kYes);
  if (!begin) return begin.refusal();
  InfillPrompt out{.tokens = *std::move(begin), .stops = {}};
  if (const auto refusal = append_files(context, parts.files, out.tokens)) return *refusal;
  for (const bool is_after : {marks->after_first, !marks->after_first}) {
    out.tokens.push_back(is_after ? marks->after : marks->before);
    if (!is_after)
      append(out.tokens, parts.before);
    else if (const auto refusal = append_text(context, parts.after, out.tokens))
      return *refusal;
  }
  if (marks->middle) out.tokens.push_back(*marks->middle);
  for (const std::string_view mark : kEnds)
    if (const auto token = context.tokenizer->token_id(mark)) out.stops.push_back(*token);
  for (const Token token : {marks->before, marks->after, marks->middle.value_or(marks->before)})
    out.stops.push_back(token);
  return out;
}

}  // namespace foretoken
