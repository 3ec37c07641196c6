// foretoken-bench: how near to the machine's roofs a step runs. Takes a model's shape (made-up
// weights), repeats rounds of {roof, plain decode step, verify steps of several tree sizes,
// prefill} and prints medians. `foretoken-bench accept` compares methods of drafting instead.

#include <cstdio>
#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "backend/backend.h"
#include "bench/accept_command.h"
#include "bench/report.h"
#include "bench/shapes.h"
#include "bench/step_rig.h"
#include "model/runner.h"
#include "tensor/buffer.h"

namespace foretoken {
namespace {

struct BenchOptions {
  std::string shape = "llama-3.2-1b";
  std::string dtype = "bfloat16";
  BackendConfig backend;
  int threads = 0;
  int context = 128;
  int rounds = 9;
  std::vector<int> nodes = {1, 2, 4, 8, 16, 32, 64};
  std::vector<int> prefill = {128, 512};
};

constexpr std::size_t kRoofBytes = std::size_t{1} << 30;

BenchOptions parse(int argc, char** argv) {
  BenchOptions options;
  CLI::App app("Times steps of a model of made-up weights against the machine's roofs.");
  app.footer("foretoken-bench accept --help: accept lengths and speeds of drafting methods.");
  app.add_option("--shape", options.shape, fmt::format("{}", fmt::join(shape_names(), " | ")))
      ->capture_default_str();
  app.add_option("--dtype", options.dtype, "bfloat16 | float16 | float32")->capture_default_str();
  app.add_option("--threads", options.threads, "0: all usable cores")->capture_default_str();
  app.add_option("--cpu-isa", options.backend.cpu_isa)->capture_default_str();
  app.add_option("--gemm-order", options.backend.gemm_order)->capture_default_str();
  app.add_option("--context", options.context, "committed tokens before a decode step")
      ->capture_default_str();
  app.add_option("--rounds", options.rounds)->capture_default_str();
  app.add_option("--nodes", options.nodes,
                 "tree sizes of decode steps; the first is the base of ratios")
      ->delimiter(',');
  app.add_option("--prefill", options.prefill, "prompt lengths")->delimiter(',');
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

DType parse_dtype(const std::string& name) {
  if (name == "bfloat16") return DType::kBF16;
  if (name == "float16") return DType::kF16;
  if (name == "float32") return DType::kF32;
  throw Error({"unknown dtype", "--dtype", "bfloat16, float16 or float32", name});
}

int run(const BenchOptions& options) {
  ThreadPool pool(options.threads);
  const auto ops = make_backend(options.backend, pool);
  const ModelConfig config = shape_config(options.shape);
  const auto weights = dummy_weights(1);
  const Decoder decoder(*ops, config, *weights, parse_dtype(options.dtype));
  Runner runner(*ops, decoder, StepRig::pages_needed(options.context));
  StepRig rig(*ops, runner, options.context);
  Buffer memory(kRoofBytes);
  const Tensor roof_memory = memory.view(DType::kU8, {static_cast<std::int64_t>(kRoofBytes)});
  std::memset(memory.data(), 1, kRoofBytes);  // pages never written are all one page of zeros

  const auto weight_bytes = static_cast<double>(decoder.weight_bytes());
  const double flops_per_row =
      2 * weight_bytes / static_cast<double>(dtype_bytes(parse_dtype(options.dtype)));
  const double head_flops = 2.0 * static_cast<double>(config.vocab * config.hidden);
  Report report;
  for (const int n : options.nodes) {
    report.series.push_back({.name = n == 1 ? "decode" : fmt::format("verify {}", n),
                             .tokens = 1,
                             .bytes = weight_bytes,
                             .flops = flops_per_row * n,
                             .seconds = {}});
  }
  for (const int n : options.prefill) {
    // The head runs for the last row only; tied embeddings count once in weight_bytes.
    const double body =
        config.tied_embeddings ? flops_per_row - head_flops : flops_per_row - 2 * head_flops;
    report.series.push_back({.name = fmt::format("prefill {}", n),
                             .tokens = n,
                             .bytes = weight_bytes,
                             .flops = body * n + head_flops,
                             .seconds = {}});
  }
  for (int round = 0; round < options.rounds; ++round) {
    report.roofs.push_back(ops->measure_roof(roof_memory));
    std::size_t i = 0;
    for (const int n : options.nodes) report.series[i++].seconds.push_back(rig.time_verify(n));
    for (const int n : options.prefill) report.series[i++].seconds.push_back(rig.time_prefill(n));
  }
  fmt::print("{}, {} {}, {:.2f} GB of weights, context {}\n", ops->description(), options.shape,
             options.dtype, weight_bytes / 1e9, options.context);
  fmt::print("{}", format_report(report));
  return 0;
}

}  // namespace
}  // namespace foretoken

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::string_view(argv[1]) == "accept")
      return foretoken::accept_command(argc - 1, argv + 1);
    return foretoken::run(foretoken::parse(argc, argv));
  } catch (const foretoken::Error& error) {
    std::fprintf(stderr, "foretoken-bench: %s\n", error.what());
    return 1;
  }
}
