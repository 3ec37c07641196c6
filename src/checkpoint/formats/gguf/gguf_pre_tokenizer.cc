#include "checkpoint/formats/gguf/gguf_pre_tokenizer.h"

#include <algorithm>
#include <array>

namespace foretoken {
namespace {

using Splits = std::span<const std::string_view>;

constexpr std::string_view kGpt2[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kDigitsThenGpt2[] = {R"(\p{N})", kGpt2[0]};
constexpr std::string_view kLlama3[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kQwen2[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kQwen35[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kTekken[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kGpt4o[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kThreesThenGpt4o[] = {R"(\d{1,3}(?=(?:\d{3})*\b))", kGpt4o[0]};
constexpr std::string_view kSeed[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kFalcon[] = {R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2[0], "[0-9][0-9][0-9]"};
constexpr std::string_view kDefault[] = {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2[0], R"(\p{N}+)",
                                         "[0-9][0-9][0-9]"};
constexpr std::string_view kDeepSeekScripts =
    R"([\x{4E00}-\x{9FA5}\x{0800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr std::string_view kDeepSeekLlm[] = {
    R"([\r\n])",
    R"(\s?[)"
    R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293})"
    R"(\x{295}-\x{2AF}\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-)"
    R"(\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-)"
    R"(\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-)"
    R"(\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-)"
    R"(\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D})"
    R"(\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}\x{1FC2}-\x{1FC4}\x{1FC6}-)"
    R"(\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4}\x{1FF6}-)"
    R"(\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126})"
    R"(\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149})"
    R"(\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2})"
    R"(\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-)"
    R"(\x{A78E}\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-)"
    R"(\x{FF5A}\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2})"
    R"(\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})"
    R"(]+)",
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)",
    R"(\s+$)",
    kDeepSeekScripts,
    R"(\p{N}+)"};
constexpr std::string_view kDeepSeekCoder[] = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
                                               kDeepSeekScripts, R"(\p{N})"};
constexpr std::string_view kDeepSeek3[] = {
    R"(\p{N}{1,3})", R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)",
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|)"
    R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

struct Named {
  std::string_view name;
  GgufPreTokenizer rule;
};

constexpr GgufPreTokenizer kOfGpt2{.splits = kGpt2};
constexpr GgufPreTokenizer kOfDigits{.splits = kDigitsThenGpt2};
constexpr GgufPreTokenizer kOfLlama3{
    .splits = kLlama3, .takes_whole_words = true, .adds_bos = true};
constexpr GgufPreTokenizer kOfQwen2{.splits = kQwen2, .composes = true};

constexpr auto kNames = std::to_array<Named>({
    {"default", {.splits = kDefault}},
    {"llama3", kOfLlama3},
    {"llama-v3", kOfLlama3},
    {"llama-bpe", kOfLlama3},
    {"falcon3", kOfLlama3},
    {"lfm2", kOfLlama3},
    {"dbrx", {.splits = kLlama3}},
    {"smaug-bpe", {.splits = kLlama3}},
    {"chatglm-bpe", {.splits = kLlama3}},
    {"glm4", {.splits = kLlama3, .takes_whole_words = true}},
    {"qwen2", kOfQwen2},
    {"deepseek-r1-qwen", kOfQwen2},
    {"qwen35", {.splits = kQwen35, .composes = true}},
    {"megrez", {.splits = kQwen2}},
    {"stablelm2", {.splits = kQwen2}},
    {"hunyuan", {.splits = kQwen2}},
    {"tekken", {.splits = kTekken, .takes_whole_words = true, .adds_bos = true}},
    {"gpt-4o", {.splits = kGpt4o}},
    {"llama4", {.splits = kGpt4o}},
    {"tiny_aya", {.splits = kThreesThenGpt4o}},
    {"seed-coder", {.splits = kSeed}},
    {"gpt-2", kOfGpt2},
    {"phi-2", kOfGpt2},
    {"mpt", kOfGpt2},
    {"olmo", kOfGpt2},
    {"jais", kOfGpt2},
    {"exaone4", kOfGpt2},
    {"granite-docling", kOfGpt2},
    {"smollm", kOfDigits},
    {"starcoder", kOfDigits},
    {"refact", kOfDigits},
    {"codeshell", kOfDigits},
    {"exaone", kOfDigits},
    {"minerva-7b", kOfDigits},
    {"command-r", {.splits = kDigitsThenGpt2, .composes = true}},
    {"falcon", {.splits = kFalcon}},
    {"deepseek-llm", {.splits = kDeepSeekLlm}},
    {"deepseek-coder", {.splits = kDeepSeekCoder}},
    {"deepseek-v3", {.splits = kDeepSeek3}},
    {"hunyuan-dense", {.splits = kDeepSeek3}},
});

}  // namespace

const GgufPreTokenizer* gguf_pre_tokenizer(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name, &Named::name);
  return found == kNames.end() ? nullptr : &found->rule;
}

std::string gguf_pre_tokenizer_names() {
  std::string names;
  for (const Named& row : kNames) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

}  // namespace foretoken
