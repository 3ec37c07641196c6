#include "bench/quality_command.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backend/backend.h"
#include "base/file.h"
#include "base/index.h"
#include "base/log.h"
#include "bench/bench_flags.h"
#include "checkpoint/model_files.h"
#include "kv/kv_dtype.h"
#include "model/decoder/load.h"
#include "model/heads/head_config.h"
#include "model/runner.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

// The log-probabilities of every next token behind every position of a text.
std::vector<float> log_probabilities(Ops& ops, const Decoder& decoder,
                                     std::span<const Token> text) {
  const int pages = pages_for(static_cast<int>(text.size()));
  Runner runner(ops, decoder, pages);
  SeqTable table(1);
  for (int page = 0; page < pages; ++page) table.pages[0].push_back(page);
  DraftTrees trees(1, 1);
  SamplingParams params;
  StepPlan plan;
  plan.entries.push_back({.slot = 0,
                          .chain = text.first(text.size() - 1),
                          .has_tree = true,
                          .score_from = 0,
                          .after_chain = text.back(),
                          .params = &params});
  trees.plant(0, text.back());
  Batch batch;
  ops.layout(plan, trees, table, batch);
  const Features features = runner.forward(batch, {.last_hidden = true, .layer_inputs = {}});
  const Tensor logits = runner.logits(features, batch);
  std::vector<float> out(at(logits.elements()));
  for (std::int64_t r = 0; r < logits.dim(0); ++r) {
    const float* row = logits.row_f32(r);
    const double most = *std::max_element(row, row + logits.dim(1));
    double sum = 0;
    for (std::int64_t i = 0; i < logits.dim(1); ++i) sum += std::exp(row[i] - most);
    for (std::int64_t i = 0; i < logits.dim(1); ++i)
      out[at(r * logits.dim(1) + i)] = static_cast<float>(row[i] - most - std::log(sum));
  }
  return out;
}

// Weights and a KV cache of some types.
struct Kind {
  std::string name;
  Quantization quantization;
  std::optional<DType> kv_dtype;
};

// What the flags name; all where they name nothing.
std::vector<Kind> kinds_of(const FlagValues& values) {
  const bool names_none = !values.given("--quantization") && !values.given("--kv-cache-dtype");
  const auto listed = [&](const char* flag, const std::vector<std::string_view>& all) {
    return values.given(flag) ? values.list(flag)
           : names_none       ? std::vector<std::string>(all.begin(), all.end())
                              : std::vector<std::string>{};
  };
  std::vector<Kind> kinds;
  const bool searches = values.on("--quantization-scale-search");
  for (const std::string& name : listed("--quantization", made_quantizations()))
    kinds.push_back({name,
                     with_head(quantization_named(name, searches, "--quantization"),
                               values.text("--quantization-head"), searches, "--quantization-head"),
                     {}});
  for (const std::string& name : listed("--kv-cache-dtype", {"int8", "fp8_e4m3", "fp8_e5m2"}))
    kinds.push_back({"kv " + name, {}, kv_dtype_named(name, "--kv-cache-dtype")});
  return kinds;
}

struct Quality {
  double loss = 0;        // nats, summed
  double divergence = 0;  // from the base, summed
  double agreement = 0;   // rows with the base's most probable token
  std::int64_t tokens = 0;
};

void add_window(std::span<const Token> text, std::int64_t vocab, const std::vector<float>& base,
                const std::vector<float>& found, Quality& quality) {
  for (std::size_t r = 0; r + 1 < text.size(); ++r) {
    const float* p = &base[r * at(vocab)];
    const float* q = &found[r * at(vocab)];
    quality.loss -= q[text[r + 1]];
    for (std::int64_t i = 0; i < vocab; ++i)
      quality.divergence += std::exp(static_cast<double>(p[i])) * (p[i] - q[i]);
    quality.agreement += std::max_element(p, p + vocab) - p == std::max_element(q, q + vocab) - q;
    ++quality.tokens;
  }
}

}  // namespace

FlagTable quality_flags() {
  using enum FlagKind;
  return {{"Quality",
           {
               {.names = {"--model"},
                .text = "checkpoint folder or GGUF file",
                .default_value = "models/demo"},
               {.names = {"--text"}, .text = "file of the text to predict; needed"},
               {.names = {"--quantization"},
                .kind = kTextList,
                .text = "kinds of weights to compare",
                .default_note = "all that are made while loading",
                .choices = quantization_names()},
               {.names = {"--base-dtype"},
                .text = "type of the weights that they are compared with",
                .default_value = "auto",
                .choices = {"auto", "bfloat16", "float16", "float32"}},
               {.names = {"--quantization-head"},
                .text = "with output matrices of this kind",
                .default_note = "8 bits",
                .choices = made_quantizations()},
               {.names = {"--kv-cache-dtype"},
                .kind = kTextList,
                .text = "types of the KV cache to compare, with weights as they are stored",
                .default_note = "all of 8 bits"},
               {.names = {"--quantization-scale-search"},
                .kind = kSwitch,
                .text = "with scales of least error"},
               {.names = {"--window"},
                .kind = kInteger,
                .text = "tokens that see each other",
                .default_value = "512"},
               {.names = {"--limit"},
                .kind = kInteger,
                .text = "tokens of the text, at most",
                .default_value = "20000"},
               {.names = {"--threads"},
                .kind = kInteger,
                .text = "compute threads; 0: all usable cores",
                .default_value = "0"},
           }}};
}

int quality_command(std::span<const std::string> args) {
  const FlagValues values = parse_flags(args, quality_flags());
  const std::string folder = values.text("--model"), path = values.text("--text");
  if (path.empty()) throw UsageError({.what = "--text", .expected = "a file", .found = "none"});
  const auto text = read_file(path);
  if (!text) throw Error({.what = "cannot read the text", .where = path});
  const std::vector<Kind> kinds = kinds_of(values);

  set_log_level(LogLevel::kWarning);
  const auto encoded = Tokenizer(*open_model_files(folder)).encode(*text, AddSpecial::kNo);
  if (!encoded) throw Error({.what = encoded.refusal().message, .where = path});
  std::vector<Token> tokens = *encoded;
  tokens.resize(std::min(tokens.size(), at(at_least(2, values, "--limit"))));
  const std::size_t window = at(at_least(2, values, "--window"));

  ThreadPool pool(at_least(0, values, "--threads"));
  const auto ops = make_backend({}, pool);
  ModelOptions options;
  options.show_progress = false;
  options.others = mtp_prefixes;
  options.dtype = values.text("--base-dtype");
  const auto base = load_model(*ops, folder, options);
  options.dtype = "auto";
  std::vector<std::unique_ptr<Decoder>> models;
  for (const Kind& kind : kinds) {
    options.quantization = kind.quantization;
    options.kv_dtype = kind.kv_dtype;
    models.push_back(load_model(*ops, folder, options));
  }
  std::vector<Quality> qualities(models.size());
  for (std::size_t begin = 0; begin + 2 <= tokens.size(); begin += window) {
    const auto part = std::span(tokens).subspan(begin, std::min(window, tokens.size() - begin));
    if (part.size() < 2) break;
    const auto right = log_probabilities(*ops, *base, part);
    for (std::size_t i = 0; i < models.size(); ++i)
      add_window(part, base->config().vocab, right, log_probabilities(*ops, *models[i], part),
                 qualities[i]);
  }
  fmt::print("{:<14} {:>10} {:>12} {:>12} {:>12} {:>12}\n", "kind", "MB", "KV B/token",
             "perplexity", "KL (nats)", "same best");
  for (std::size_t i = 0; i < models.size(); ++i) {
    const Quality& q = qualities[i];
    const auto count = static_cast<double>(q.tokens);
    fmt::print("{:<14} {:>10.1f} {:>12} {:>12.4f} {:>12.2e} {:>12.4f}\n", kinds[i].name,
               static_cast<double>(models[i]->weight_bytes()) / 1e6,
               ops->kv_page_bytes(models[i]->kv_shape()) / kPageTokens, std::exp(q.loss / count),
               q.divergence / count, q.agreement / count);
  }
  return 0;
}

}  // namespace foretoken
