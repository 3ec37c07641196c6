// foretoken-bench: how near to the machine's roofs a step runs. Takes a model's shape (made-up
// weights), repeats rounds of {roof, plain decode step, verify steps of several tree sizes,
// prefill} and prints medians. `foretoken-bench accept` compares methods of drafting instead,
// `foretoken-bench ngram` and `foretoken-bench suffix` time what drafts from texts cost the host.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/flags/flag_help.h"
#include "backend/backend.h"
#include "bench/accept_command.h"
#include "bench/bench_flags.h"
#include "bench/grammar_check_command.h"
#include "bench/grammar_command.h"
#include "bench/ngram_command.h"
#include "bench/ops_command.h"
#include "bench/quality_command.h"
#include "bench/queue_command.h"
#include "bench/report.h"
#include "bench/sample_command.h"
#include "bench/shapes.h"
#include "bench/step_rig.h"
#include "bench/suffix_command.h"
#include "checkpoint/model_files.h"
#include "kv/kv_dtype.h"
#include "model/decoder/load.h"
#include "model/heads/head_config.h"
#include "model/runner.h"
#include "tensor/buffer.h"

namespace foretoken {
namespace {

constexpr std::size_t kRoofBytes = std::size_t{1} << 30;

DType parse_dtype(const std::string& name) {
  if (name == "bfloat16") return DType::kBF16;
  if (name == "float16") return DType::kF16;
  if (name == "float32") return DType::kF32;
  throw Error({"unknown dtype", "--dtype", "bfloat16, float16 or float32", name});
}

// Of a layer's matrices beside its MLP.
std::int64_t mixing_width(const ModelConfig& config, int layer) {
  const RecurrentBlocks& states = config.recurrent;
  if (states.are_in(layer)) {
    std::int64_t width = states.shape.channels + states.out_width();
    for (const StoredRows& rows : states.gate) width += std::int64_t{rows.rows} * rows.blocks;
    return width + states.dt.rows + states.beta.rows;
  }
  const std::int64_t q = std::int64_t{config.heads} * config.head_dim,
                     kv = std::int64_t{config.kv_heads} * config.head_dim;
  return (config.has_output_gate ? 3 : 2) * q + 2 * kv;
}

// Elements of the matrices of all layers that a row is multiplied with.
double layer_weights(const ModelConfig& config) {
  const ExpertBlocks& experts = config.experts;
  std::int64_t weights = 0;
  for (int layer = 0; layer < config.layers; ++layer) {
    weights += config.hidden * mixing_width(config, layer);
    const std::int64_t width =
        experts.are_in(layer)
            ? experts.routing.chosen * experts.intermediate + experts.shared_intermediate
            : config.intermediate;
    weights += 3 * config.hidden * width;
  }
  return static_cast<double>(weights);
}

// Of the states of one sequence.
double state_bytes(const ModelConfig& config) {
  const auto layers = std::ranges::count(config.recurrent.layers, true);
  return static_cast<double>(layers * config.recurrent.shape.state_values()) * sizeof(float);
}

// Seconds of a step among steps of its kind, as a server runs them: the median of those that fit
// into kBurst, and of kFewest at least, without the first, which finds the caches and the clock as
// another kind left them. A step that takes longer than kLong does not feel that, and is timed
// once.
double steady_seconds(const std::function<double()>& step) {
  constexpr double kBurst = 0.03, kLong = 0.5;
  constexpr std::size_t kFewest = 3;
  double spent = step();
  if (spent > kLong) return spent;
  std::vector<double> steady;
  while (spent < kBurst || steady.size() < kFewest) {
    steady.push_back(step());
    spent += steady.back();
  }
  return median(std::move(steady));
}

std::unique_ptr<Decoder> make_model(const StepOptions& options, Ops& ops) {
  if (!options.model.empty()) {
    ModelOptions wanted;
    wanted.quantization = options.quantization;
    wanted.kv_dtype = options.kv_dtype;
    wanted.others = mtp_prefixes;
    return load_model(ops, options.model, wanted);
  }
  ModelConfig config = shape_config(options.shape);
  config.kv_dtype = options.kv_dtype;
  const auto weights = dummy_weights(1);
  return std::make_unique<Decoder>(ops, config, *weights, parse_dtype(options.dtype),
                                   options.quantization);
}

// Whether products of the layers run on integers, for which there is a roof of its own.
bool is_of_codes(const StepOptions& options) {
  if (!is_model_file(options.model)) return options.quantization.layers.rounds_input;
  return options.quantization.name != "gguf-a16";
}

int run(const StepOptions& options) {
  ThreadPool pool(options.threads);
  const auto ops = make_backend(options.backend, pool);
  const std::unique_ptr<Decoder> made = make_model(options, *ops);
  const Decoder& decoder = *made;
  const ModelConfig& config = decoder.config();
  const int longest = options.prefill.empty() ? 0 : std::ranges::max(options.prefill),
            slots = options.sequences.empty() ? 1 : std::ranges::max(options.sequences);
  Runner runner(*ops, decoder, slots * StepRig::pages_needed(options.context, longest),
                {.slots = slots});
  StepRig rig(*ops, runner, options.context, longest, slots);
  Buffer memory(kRoofBytes);
  const Tensor roof_memory = memory.view(DType::kU8, {static_cast<std::int64_t>(kRoofBytes)});
  std::memset(memory.data(), 1, kRoofBytes);  // pages never written are all one page of zeros

  // A decode step reads all keys and values of a sequence, too, and its states.
  const auto kv_bytes =
      static_cast<double>(ops->kv_page_bytes(decoder.kv_shape())) / kPageTokens * options.context +
      state_bytes(config);
  const auto weight_bytes = static_cast<double>(decoder.weight_bytes());
  const bool on_integers = is_of_codes(options);
  const double head_flops = 2.0 * static_cast<double>(config.vocab * config.hidden);
  const double body_flops = 2.0 * layer_weights(config), flops_per_row = body_flops + head_flops;
  Report report;
  for (const int n : options.nodes) {
    report.series.push_back({.name = n == 1 ? "decode" : fmt::format("verify {}", n),
                             .tokens = 1,
                             .bytes = decoder.step_bytes(n) + kv_bytes,
                             .flops = flops_per_row * n,
                             .is_of_codes = on_integers,
                             .seconds = {}});
  }
  for (const int n : options.sequences) {
    report.series.push_back({.name = fmt::format("sequences {}", n),
                             .tokens = n,
                             .bytes = decoder.step_bytes(n) + kv_bytes * n,
                             .flops = flops_per_row * n,
                             .is_of_codes = on_integers,
                             .seconds = {}});
  }
  for (const int n : options.prefill) {
    // The head runs for the last row only.
    report.series.push_back({.name = fmt::format("prefill {}", n),
                             .tokens = n,
                             .bytes = decoder.step_bytes(n),
                             .flops = body_flops * n + head_flops,
                             .is_of_codes = on_integers,
                             .seconds = {}});
  }
  for (int round = 0; round < options.rounds; ++round) {
    report.roofs.push_back(ops->measure_roof(roof_memory));
    std::size_t i = 0;
    for (const int n : options.nodes)
      report.series[i++].seconds.push_back(steady_seconds([&] { return rig.time_verify(n); }));
    for (const int n : options.sequences)
      report.series[i++].seconds.push_back(steady_seconds([&] { return rig.time_sequences(n); }));
    for (const int n : options.prefill)
      report.series[i++].seconds.push_back(steady_seconds([&] { return rig.time_prefill(n); }));
  }
  fmt::print("{}, {} {}, {:.2f} GB of weights, context {} of {}, {:.3f} GB\n", ops->description(),
             options.model.empty() ? options.shape : options.model,
             options.quantization.is_on() ? options.quantization.text()
             : options.model.empty()      ? options.dtype
                                          : "as stored",
             weight_bytes / 1e9, options.context, kv_dtype_name(decoder.kv_shape().dtype),
             kv_bytes / 1e9);
  fmt::print("{}", format_report(report));
  return 0;
}

bool asks_for_help(std::span<const std::string> args) {
  return std::ranges::any_of(args, [](const auto& arg) { return arg == "--help" || arg == "-h"; });
}

// What --help says of the subcommand, or of the program where it is none.
std::string help_of(const std::string& subcommand) {
  if (subcommand == "accept")
    return "foretoken-bench accept [flags]\n"
           "Accept lengths and speeds of drafting methods.\n" +
           help_text(accept_flags());
  if (subcommand == "ops")
    return "foretoken-bench ops [flags]\n"
           "What each operation of a layer takes alone, by rows.\n" +
           help_text(step_flags());
  if (subcommand == "quality")
    return "foretoken-bench quality --text FILE [flags]\n"
           "What weights of fewer bits cost: perplexity, divergence, memory.\n" +
           help_text(quality_flags());
  if (subcommand == "queue")
    return "foretoken-bench queue [flags]\n"
           "What a long queue on one document and a full prefix cache add to a step.\n" +
           help_text(queue_flags());
  return "foretoken-bench [flags]\n"
         "Times steps of a model, made up or read, against the machine's roofs; see also\n"
         "`foretoken-bench accept --help` and `foretoken-bench queue --help`. `foretoken-bench "
         "ops`\ntimes operations alone, `foretoken-bench ngram`\nand `foretoken-bench suffix` time "
         "what NGRAM and SUFFIX cost the host, "
         "`foretoken-bench sample`\nwhat a row of logits takes to be sampled, "
         "`foretoken-bench "
         "grammar FOLDER`\nwhat grammars cost over the vocabulary of a tokenizer; `foretoken-bench "
         "grammar-check FOLDER`\nanswers what they take, for tools/check_schemas.py.\n" +
         help_text(step_flags());
}

int run_command(std::span<const std::string> args) {
  const std::string subcommand = args.empty() ? std::string{} : args.front();
  if (asks_for_help(args)) {
    fmt::print("{}", help_of(subcommand));
    return 0;
  }
  if (subcommand == "ops") return ops_command(read_step_options(args.subspan(1)));
  if (subcommand == "ngram") return ngram_command();
  if (subcommand == "suffix") return suffix_command();
  if (subcommand == "sample") return sample_command();
  if (subcommand == "grammar-check") return grammar_check_command(args.subspan(1));
  if (subcommand == "grammar") return grammar_command(args.subspan(1));
  if (subcommand == "accept") return accept_command(read_accept_options(args.subspan(1)));
  if (subcommand == "quality") return quality_command(args.subspan(1));
  if (subcommand == "queue") return queue_command(args.subspan(1));
  return run(read_step_options(args));
}

}  // namespace
}  // namespace foretoken

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    return foretoken::run_command(args);
  } catch (const foretoken::UsageError& error) {
    std::fprintf(stderr, "foretoken-bench: %s\n", error.what());
    return 2;
  } catch (const foretoken::Error& error) {
    std::fprintf(stderr, "foretoken-bench: %s\n", error.what());
    return 1;
  }
}
