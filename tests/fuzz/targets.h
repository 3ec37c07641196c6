#pragma once
// The targets of the fuzzer: each takes any bytes and returns; what must not happen ends the
// process (a sanitizer's report, a CHECK, an exception that nobody should have thrown). Not tests
// of results: those lie beside the sources. Run by libFuzzer one target per program (entry.cc), and
// over the stored corpora by corpus_test.cc. One thread at a time.

#include <span>
#include <string_view>

namespace foretoken::fuzz {

using Target = void (*)(std::string_view input);

void safetensors(std::string_view input);
void gguf(std::string_view input);
void pickle(std::string_view input);
void zip(std::string_view input);
void torch_file(std::string_view input);
void checkpoint(std::string_view input);
void token_map(std::string_view input);
void model_config(std::string_view input);
void tokenizer_json(std::string_view input);
void sentencepiece(std::string_view input);
void chat_template(std::string_view input);
void answer(std::string_view input);
void stop_expressions(std::string_view input);
void json_body(std::string_view input);
void http(std::string_view input);
void flags(std::string_view input);
void tune_record(std::string_view input);

struct NamedTarget {
  std::string_view name;  // of the function and of the corpus' folder
  Target run;
};

std::span<const NamedTarget> all_targets();

}  // namespace foretoken::fuzz
