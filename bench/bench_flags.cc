#include "bench/bench_flags.h"

#include <algorithm>
#include <limits>

#include <fmt/ranges.h>

#include "bench/shapes.h"
#include "kv/kv_dtype.h"

namespace foretoken {
namespace {

using enum FlagKind;

// A list of sizes, `usual` unless one was given.
std::vector<int> sizes(const FlagValues& values, std::string_view name, std::vector<int> usual) {
  if (!values.given(name)) return usual;
  std::vector<int> out;
  for (const std::string& item : values.list(name)) {
    const long long size = std::stoll(item);  // the parser has seen that it is an integer
    if (size < 1 || size > std::numeric_limits<int>::max())
      throw UsageError({.what = std::string(name), .expected = "sizes above 0", .found = item});
    out.push_back(static_cast<int>(size));
  }
  return out;
}

float temperature_of(const FlagValues& values) {
  return static_cast<float>(number_within(values, "--temperature", 0, 100));
}

std::vector<std::string_view> step_quantizations() {
  auto names = made_quantizations();
  names.insert(names.end(), {"gguf", "gguf-a16"});
  return names;
}

Flag threads_flag() {
  return {.names = {"--threads"},
          .kind = kInteger,
          .text = "compute threads; 0: all usable cores",
          .default_value = "0"};
}

}  // namespace

int at_least(int least, const FlagValues& values, std::string_view name) {
  const std::int64_t value = values.integer(name).value_or(0);
  if (value < least || value > std::numeric_limits<int>::max())
    throw UsageError({.what = std::string(name),
                      .expected = "at least " + std::to_string(least),
                      .found = values.text(name)});
  return static_cast<int>(value);
}

FlagTable step_flags() {
  static const std::vector<std::string> shapes = shape_names();
  return {{"Steps",
           {
               {.names = {"--model"},
                .text = "a model in the place of a made-up one: a checkpoint folder or GGUF file"},
               {.names = {"--shape"},
                .text = "whose shape the made-up model has",
                .default_value = "llama-3.2-1b",
                .choices = {shapes.begin(), shapes.end()}},
               {.names = {"--dtype"},
                .text = "type of the weights",
                .default_value = "bfloat16",
                .choices = {"bfloat16", "float16", "float32"}},
               {.names = {"--quantization"},
                .text = "weights of 8 or 4 bits; gguf and gguf-a16 with a GGUF file",
                .default_value = "unquant",
                .choices = step_quantizations()},
               {.names = {"--quantization-head"},
                .text = "the output matrix of another kind",
                .default_note = "8 bits with --quantization",
                .choices = made_quantizations()},
               {.names = {"--kv-cache-dtype"},
                .text = "type of the KV cache; auto: the type of the weights",
                .default_value = "auto",
                .choices = kv_dtype_names()},
               threads_flag(),
               {.names = {"--device"},
                .text = "cpu, reference, vulkan, vulkan:N or vulkan:NAME, as the program takes it",
                .default_value = "cpu"},
               {.names = {"--cpu-isa"},
                .text = "instruction set of the kernels",
                .default_value = "auto"},
               {.names = {"--gemm-order"},
                .text = "order of addition in matrix products",
                .default_value = "auto"},
               {.names = {"--context"},
                .kind = kInteger,
                .text = "committed tokens before a decode step",
                .default_value = "128"},
               {.names = {"--rounds"},
                .kind = kInteger,
                .text = "interleaved repeats, of which medians are printed",
                .default_value = "9"},
               {.names = {"--nodes"},
                .kind = kIntegerList,
                .text = "tree sizes of decode steps; the first is the base of ratios",
                .default_note = "1 2 4 8 16 32 64"},
               {.names = {"--sequences"},
                .kind = kIntegerList,
                .text = "numbers of sequences that are decoded at once",
                .default_note = "none"},
               {.names = {"--prefill"},
                .kind = kIntegerList,
                .text = "prompt lengths",
                .default_note = "128 512"},
           }}};
}

FlagTable accept_flags() {
  return {
      {"Methods",
       {
           {.names = {"--checkpoints"},
            .text = "folder with the demo checkpoints, which the documented settings run on",
            .default_value = "models"},
           {.names = {"--model"}, .text = "compare on this model instead, with --method"},
           {.names = {"--method"},
            .kind = kTextList,
            .text = "NAME=FLAGS, as `foretoken serve` takes them; one or several",
            .is_gathered = true},
           {.names = {"--flags"},
            .text = "further flags of all methods, plain decoding too: \"--load-format dummy\""},
           {.names = {"--draft-budget"},
            .kind = kTextList,
            .text = "full: trees of all nodes, auto: of as many as pay; methods run with each",
            .default_note = "full auto",
            .choices = {"full", "auto"}},
           {.names = {"--draft-coupling"},
            .kind = kTextList,
            .text = "above temperature 0, whether drafts are drawn with the sampler's noise; "
                    "methods run with each",
            .default_note = "never always auto",
            .choices = {"auto", "always", "never"}},
           {.names = {"--own-plain"},
            .kind = kSwitch,
            .text = "compare each method with its own engine while requests turn drafts off, not "
                    "with another engine: two of the same flags differ by some percent"},
           threads_flag(),
       }},
      {"Prompts",
       {
           {.names = {"--prompts"},
            .text = "JSONL in MT-bench's layout: {\"turns\": [...]}",
            .default_value = "bench/prompts/demo.jsonl"},
           {.names = {"--limit"},
            .kind = kInteger,
            .text = "only so many prompts; 0: all",
            .default_value = "0"},
           {.names = {"--turns"},
            .kind = kInteger,
            .text = "of each conversation, at most",
            .default_value = "1"},
           {.names = {"--max-new-tokens"},
            .kind = kInteger,
            .text = "length of an answer",
            .default_value = "128"},
           {.names = {"--temperature"},
            .kind = kNumber,
            .text = "of sampling; seeds are the prompts'",
            .default_value = "0"},
           {.names = {"--ignore-eos"},
            .kind = kSwitch,
            .text = "answers of --max-new-tokens, no shorter"},
           {.names = {"--at-once"},
            .kind = kTextList,
            .text = "requests in flight, one or several numbers; above 1 each conversation has one "
                    "turn, and prompts are asked again where there are fewer",
            .default_note = "1"},
           {.names = {"--repeats"},
            .kind = kInteger,
            .text = "repeats, of which medians are printed",
            .default_value = "3"},
           {.names = {"--predict"},
            .kind = kSwitch,
            .text = "tell all methods but plain decoding the right answer as a prediction, one "
                    "request at a time"},
           {.names = {"--verbose"}, .kind = kSwitch, .text = "print the answers, and what differs"},
       }}};
}

StepOptions read_step_options(std::span<const std::string> args) {
  const FlagValues values = parse_flags(args, step_flags());
  StepOptions options;
  options.model = values.text("--model");
  options.shape = values.text("--shape");
  options.dtype = values.text("--dtype");
  options.quantization =
      with_head(quantization_named(values.text("--quantization"), false, "--quantization"),
                values.text("--quantization-head"), false, "--quantization-head");
  options.kv_dtype = kv_dtype_named(values.text("--kv-cache-dtype"), "--kv-cache-dtype");
  options.backend.device = values.text("--device");
  options.backend.cpu_isa = values.text("--cpu-isa");
  options.backend.gemm_order = values.text("--gemm-order");
  options.threads = at_least(0, values, "--threads");
  options.context = at_least(1, values, "--context");
  options.rounds = at_least(1, values, "--rounds");
  options.nodes = sizes(values, "--nodes", {1, 2, 4, 8, 16, 32, 64});
  options.sequences = sizes(values, "--sequences", {});
  options.prefill = sizes(values, "--prefill", {128, 512});
  return options;
}

AcceptOptions read_accept_options(std::span<const std::string> args) {
  const FlagValues values = parse_flags(args, accept_flags());
  AcceptOptions options;
  options.checkpoints = values.text("--checkpoints");
  options.model = values.text("--model");
  options.methods = values.list("--method");
  if (!options.methods.empty() && options.model.empty())
    throw UsageError({.what = "--method", .expected = "--model beside it", .found = "none"});
  options.budgets = values.given("--draft-budget") ? values.list("--draft-budget")
                                                   : std::vector<std::string>{"full", "auto"};
  options.prompts = values.text("--prompts");
  options.answers.max_new_tokens = at_least(1, values, "--max-new-tokens");
  options.answers.ignores_end = values.on("--ignore-eos");
  options.answers.temperature = temperature_of(values);
  if (options.answers.temperature > 0)
    options.couplings = values.given("--draft-coupling")
                            ? values.list("--draft-coupling")
                            : std::vector<std::string>{"never", "always", "auto"};
  options.max_turns = at_least(1, values, "--turns");
  options.at_once = sizes(values, "--at-once", {1});
  options.flags = values.text("--flags");
  options.limit = at_least(0, values, "--limit");
  options.repeats = at_least(1, values, "--repeats");
  options.threads = at_least(0, values, "--threads");
  options.own_plain = values.on("--own-plain");
  options.predicts = values.on("--predict");
  if (options.predicts && std::ranges::max(options.at_once) > 1)
    throw UsageError({.what = "--predict",
                      .expected = "--at-once 1 beside it",
                      .found = fmt::format("{}", fmt::join(options.at_once, " "))});
  options.is_verbose = values.on("--verbose");
  return options;
}

}  // namespace foretoken
