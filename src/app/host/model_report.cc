#include "app/host/model_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "app/host/text_host.h"
#include "backend/host/host_step.h"
#include "base/byte_text.h"
#include "base/error.h"
#include "checkpoint/tensor_list.h"
#include "draft/catalogue/plan_drafts.h"
#include "model/decoder/check_weights.h"
#include "model/decoder/forward_memory.h"
#include "model/decoder/load.h"
#include "model/heads/head_config.h"

namespace foretoken {
namespace {

namespace json = boost::json;

// Adds what `read` throws to the faults.
template <typename Read>
void try_to(ModelReport& report, Read read) {
  try {
    read();
  } catch (const Error& fault) {
    const std::string text = fault.what();
    if (std::ranges::count(report.faults, text) == 0) report.faults.push_back(text);
  }
}

void read_tensors(ModelReport& report) {
  const TensorList list = list_tensors(report.model);
  report.format = list.format;
  std::string unread;
  for (const ListedTensor& tensor : list.tensors) {
    ModelReport::Type& type = report.types[tensor.type];
    if (++type.tensors == 1 && !tensor.is_read)
      unread += (unread.empty() ? "" : ", ") + tensor.type;
    type.elements += tensor.elements;
    type.bytes += tensor.bytes;
  }
  if (!unread.empty())
    throw Error({"types of tensors that are not read", report.model, {}, unread});
}

std::string count_text(std::int64_t count) {
  const auto number = static_cast<double>(count);
  if (count >= 1'000'000'000) return fmt::format("{:.2f} B", number / 1e9);
  return fmt::format("{:.1f} M", number / 1e6);
}

std::string config_text(const ModelConfig& config) {
  return fmt::format(
      "  architecture   {}\n  layers         {}\n  width          {}, MLP {}\n"
      "  heads          {} of {}, KV heads {}\n  vocabulary     {}{}\n  context        {}\n",
      config.architecture, config.layers, config.hidden, config.intermediate, config.heads,
      config.head_dim, config.kv_heads, config.vocab,
      config.tied_embeddings ? ", embedding and output are one matrix" : "", config.context_length);
}

// Keys and values as they are kept without --kv-cache-dtype.
void plan_memory(const ReportWishes& wishes, ModelReport& report) {
  const ModelConfig& config = *report.config;
  report.kv_bytes_per_token = host_kv_page_bytes(kv_shape_of(config, DType::kBF16)) / kPageTokens;
  report.context = wishes.context.value_or(config.context_length);
  report.requests = wishes.requests;
}

std::string drafts_text(const ModelReport& report) {
  std::string out = fmt::format(
      "  memory         {}: the weights, and {:.1f} kB for each token of {} request{} of {}\n"
      "  drafts         {} (--speculative-algorithm auto)\n",
      megabyte_text(report.memory()), static_cast<double>(report.kv_bytes_per_token) / 1e3,
      report.requests, report.requests == 1 ? "" : "s", report.context, report.drafts_unasked);
  for (const DraftCandidate& each : report.drafters)
    out +=
        each.fault.empty()
            ? fmt::format(
                  "  could draft    --speculative-algorithm {} --speculative-draft-model-path {}\n",
                  each.algorithm, each.path)
            : fmt::format("  cannot draft   {}: {}\n", each.path, each.fault);
  return out;
}

json::array drafters_json(const ModelReport& report) {
  json::array list;
  for (const DraftCandidate& each : report.drafters)
    list.push_back({{"algorithm", each.algorithm},
                    {"path", each.path},
                    {"fits", each.fault.empty()},
                    {"fault", each.fault}});
  return list;
}

json::object config_json(const ModelConfig& config) {
  return {{"architecture", config.architecture},
          {"layers", config.layers},
          {"hidden_size", config.hidden},
          {"intermediate_size", config.intermediate},
          {"heads", config.heads},
          {"kv_heads", config.kv_heads},
          {"head_dim", config.head_dim},
          {"vocab_size", config.vocab},
          {"tied_embeddings", config.tied_embeddings},
          {"context_length", config.context_length}};
}

// Codes of quantized checkpoints lie several in an element.
bool counts_parameters(const ModelReport& report) {
  return !report.types.empty() && report.config && !report.config->stored_quantization;
}

}  // namespace

ModelReport::Type ModelReport::all() const {
  Type sum;
  for (const auto& [name, type] : types) {
    sum.tensors += type.tensors;
    sum.elements += type.elements;
    sum.bytes += type.bytes;
  }
  return sum;
}

std::size_t ModelReport::memory() const {
  return all().bytes + kv_bytes_per_token * static_cast<std::size_t>(context) *
                           static_cast<std::size_t>(requests);
}

ModelReport inspect_model(const LoadOptions& load, const ReportWishes& wishes) {
  ModelReport report;
  report.model = load.model_folder;
  try_to(report, [&] {
    report.config =
        read_model_config(load.model_folder, {.config_overrides = load.config_overrides});
  });
  try_to(report, [&] { read_tensors(report); });
  if (report.config && report.faults.empty())
    try_to(report, [&] {
      check_weights(load.model_folder, {.others = mtp_prefixes, .show_progress = false},
                    *report.config);
    });
  try_to(report, [&] {
    const TextHost text(load);
    report.tokens = text.tokenizer.vocab_size();
    report.has_chat_template = text.chat_template.has_value();
    report.reads_tools = text.chat_template && text.chat_template->reads_tools();
  });
  if (!report.config || !report.faults.empty()) return report;
  plan_memory(wishes, report);
  try_to(report, [&] {
    report.drafts_unasked = unasked_algorithms(report.model);
    report.drafters = find_draft_candidates(
        {.model = report.model, .cache = wishes.cache, .compares_tokens = true}, *report.config);
  });
  return report;
}

std::string report_text(const ModelReport& report) {
  std::string out = report.model + "\n";
  if (report.config) out += config_text(*report.config);
  const ModelReport::Type all = report.all();
  if (counts_parameters(report))
    out += fmt::format("  parameters     {}\n", count_text(all.elements));
  if (!report.format.empty())
    out += fmt::format("  weights        {}, {} in {} tensors\n", report.format,
                       megabyte_text(all.bytes), all.tensors);
  for (const auto& [name, type] : report.types)
    out += fmt::format("    {:<12} {:>5} tensors, {}\n", name, type.tensors,
                       megabyte_text(type.bytes));
  if (report.tokens) {
    out += fmt::format("  tokenizer      {} tokens\n", *report.tokens);
    out += fmt::format("  chat template  {}\n", !report.has_chat_template ? "none"
                                                : report.reads_tools      ? "with tools"
                                                                          : "without tools");
  }
  if (report.faults.empty()) return out + drafts_text(report) + "  served         yes\n";
  for (const std::string& fault : report.faults)
    out += fmt::format("  served         no: {}\n", fault);
  return out;
}

std::string report_json(const ModelReport& report) {
  json::object types;
  for (const auto& [name, type] : report.types)
    types[name] = {{"tensors", type.tensors}, {"elements", type.elements}, {"bytes", type.bytes}};
  json::array faults;
  for (const std::string& fault : report.faults) faults.push_back(json::value(fault));
  json::object out{{"model", report.model},
                   {"format", report.format},
                   {"bytes", report.all().bytes},
                   {"types", std::move(types)},
                   {"has_chat_template", report.has_chat_template},
                   {"chat_template_reads_tools", report.reads_tools},
                   {"served", report.faults.empty()},
                   {"faults", std::move(faults)}};
  if (counts_parameters(report)) out["parameters"] = report.all().elements;
  if (report.config) out["config"] = config_json(*report.config);
  if (report.tokens) out["tokens"] = *report.tokens;
  if (report.requests > 0) {
    out["memory"] = {{"bytes", report.memory()},
                     {"kv_bytes_per_token", report.kv_bytes_per_token},
                     {"context_length", report.context},
                     {"requests", report.requests}};
    out["drafts_unasked"] = report.drafts_unasked;
    out["drafters"] = drafters_json(report);
  }
  return json::serialize(out) + "\n";
}

}  // namespace foretoken
