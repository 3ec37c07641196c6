#include "server/request/corpus_text.h"

#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/json_text.h"

namespace foretoken {
namespace {

constexpr std::uintmax_t kMostFileBytes = std::uintmax_t{1} << 30;

}  // namespace

std::optional<Refusal> CorpusText::add(std::string_view document, const std::string& where) {
  const auto too_long = [&] {
    return Refusal{
        fmt::format("{}: the corpus has more tokens than the {} that are left of "
                    "--speculative-ngram-external-corpus-max-tokens.",
                    where, room_)};
  };
  if (is_over_ != nullptr && *is_over_)
    return Refusal{where + ": the server is shutting down.", 503};
  if (static_cast<std::int64_t>(tokenizer_.least_tokens(document)) > room_ - count_)
    return too_long();
  auto tokens = tokenizer_.encode(document, AddSpecial::kNo);
  if (!tokens) return Refusal{fmt::format("{}: {}", where, tokens.refusal().message)};
  if (tokens->empty()) return std::nullopt;
  count_ += static_cast<std::int64_t>(tokens->size());
  if (count_ > room_) return too_long();
  for (const Token token : *tokens) tokens_.push_back(token < vocab_ ? token : kDocumentEnd);
  tokens_.push_back(kDocumentEnd);
  return std::nullopt;
}

Result<std::vector<Token>> read_corpus_file(const std::filesystem::path& path,
                                            const Tokenizer& tokenizer, std::int64_t vocab,
                                            std::int64_t room, const std::atomic<bool>* is_over) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return Refusal{fmt::format("{}: no such file.", path.string())};
  if (std::filesystem::file_size(path, error) > kMostFileBytes || error)
    return Refusal{fmt::format("{}: the file is larger than 1 GiB.", path.string())};
  std::ifstream file(path);
  CorpusText text(tokenizer, vocab, room, is_over);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = fmt::format("{}:{}", path.string(), number);
    JsonFault fault;
    const auto value = parse_json(line, fault);
    if (!value || !value->is_string())
      return Refusal{fmt::format("{}: expected a JSON string.", where)};
    if (const auto refusal = text.add(value->get_string(), where)) return *refusal;
  }
  if (!file.eof()) return Refusal{fmt::format("{}: the file cannot be read.", path.string())};
  return text.take();
}

}  // namespace foretoken
