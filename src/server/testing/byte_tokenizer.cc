#include "server/testing/byte_tokenizer.h"

#include <array>
#include <set>
#include <string>

#include "server/json/json_writer.h"

namespace foretoken {
namespace {

std::string utf8_of(unsigned code) {
  std::string out;
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else {
    out.push_back(static_cast<char>(0xC0 | (code >> 6)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
  return out;
}

// The printable stand-in of each byte in byte-level vocabularies: printable Latin-1 stands for
// itself, the others follow from 256 on.
std::array<std::string, 256> byte_names() {
  std::array<std::string, 256> names;
  unsigned next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE);
    names[byte] = utf8_of(printable ? byte : next++);
  }
  return names;
}

constexpr std::array<const char*, 4> kSpecials = {"<|bos|>", "<|eos|>", "<|user|>",
                                                  "<|assistant|>"};

constexpr std::string_view kAddsBos =
    R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<|bos|>","type_id":0}},)"
    R"({"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},)"
    R"({"Sequence":{"id":"B","type_id":1}}],)"
    R"("special_tokens":{"<|bos|>":{"id":"<|bos|>","ids":[256],"tokens":["<|bos|>"]}}})";

// The given merges, and one for each byte of a word behind its first.
std::vector<std::pair<std::string, std::string>> merges_of(
    const ByteTokenizerFolder::Options& options) {
  auto merges = options.merges;
  const auto names = byte_names();
  std::set<std::string> made;
  for (const std::string& word : options.words) {
    std::string left;
    for (const char byte : word) {
      const std::string& right = names[static_cast<unsigned char>(byte)];
      if (!left.empty() && made.insert(left + right).second) merges.emplace_back(left, right);
      left += right;
    }
  }
  return merges;
}

std::string tokenizer_json(const ByteTokenizerFolder::Options& options) {
  const auto merges = merges_of(options);
  JsonWriter json;
  json.begin_object().field("version", "1.0").field_null("truncation").field_null("padding");
  json.key("added_tokens").begin_array();
  const auto add_special = [&](std::size_t id, const std::string& content) {
    json.begin_object().field("id", id).field("content", content);
    json.field("single_word", false).field("lstrip", false).field("rstrip", false);
    json.field("normalized", false).field("special", true).end_object();
  };
  for (std::size_t i = 0; i < kSpecials.size(); ++i) add_special(256 + i, kSpecials[i]);
  const std::size_t first_mark = kByteVocab + merges.size();
  for (std::size_t i = 0; i < options.marks.size(); ++i)
    add_special(first_mark + i, options.marks[i]);
  json.end_array().field_null("normalizer");
  json.key("pre_tokenizer")
      .raw(R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})");
  json.key("post_processor").raw(options.adds_bos ? kAddsBos : "null");
  json.key("decoder").raw(
      R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})");
  json.key("model").begin_object().field("type", "BPE").field_null("dropout");
  json.field_null("unk_token").field_null("continuing_subword_prefix");
  json.field_null("end_of_word_suffix").field("fuse_unk", false).field("byte_fallback", false);
  json.key("vocab").begin_object();
  const auto names = byte_names();
  for (std::size_t byte = 0; byte < 256; ++byte) json.field(names[byte], byte);
  for (std::size_t i = 0; i < kSpecials.size(); ++i) json.field(kSpecials[i], 256 + i);
  std::size_t id = kByteVocab;
  for (const auto& [left, right] : merges) json.field(left + right, id++);
  for (const std::string& mark : options.marks) json.field(mark, id++);
  json.end_object().key("merges").begin_array();
  for (const auto& [left, right] : merges) json.string(left + " " + right);
  json.end_array().end_object().end_object();
  return json.take();
}

constexpr const char* kTemplate =
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}<|assistant|>{{ m.content "
    "}}<|eos|>{% else %}<|user|>{{ m.role }}:{{ m.content }}{% endif %}{% endfor %}";
constexpr const char* kTools = "{% if tools %}[{{ tools | length }} tools]{% endif %}";
constexpr const char* kTemplateEnd =
    "{% if thinking %}[thinking]{% endif %}{% if "
    "add_generation_prompt %}<|assistant|>{% endif %}";

}  // namespace

ByteTokenizerFolder::ByteTokenizerFolder(const Options& options) {
  folder_.write("tokenizer.json", tokenizer_json(options));
  JsonWriter config;
  config.begin_object().field("tokenizer_class", "PreTrainedTokenizerFast");
  config.field("bos_token", "<|bos|>").field("eos_token", "<|eos|>");
  config.field("chat_template",
               std::string(kTemplate) + (options.shows_tools ? kTools : "") + kTemplateEnd);
  config.end_object();
  folder_.write("tokenizer_config.json", config.take());
}

std::vector<Token> byte_tokens(std::string_view text) {
  std::vector<Token> out;
  for (const char byte : text) out.push_back(static_cast<unsigned char>(byte));
  return out;
}

}  // namespace foretoken
