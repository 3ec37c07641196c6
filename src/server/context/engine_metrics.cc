#include "server/context/engine_metrics.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/byte_text.h"
#include "base/types.h"

namespace foretoken {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

double share(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

// Families under SGLang's prefix whose series all carry the common labels.
class Families {
 public:
  explicit Families(const MetricLabels& labels) : common_(labels) {}

  void gauge(const char* name, const char* help, double value) {
    open(name, help, MetricType::Gauge);
    add({}).gauge.value = value;
  }
  // A number that says what it is by its labels.
  void info(const char* name, const char* help, const MetricLabels& labels) {
    open(name, help, MetricType::Gauge);
    add(labels).gauge.value = 1.0;
  }
  void counter(const char* name, const char* help, double value) {
    open(name, help, MetricType::Counter);
    add({}).counter.value = value;
  }
  // One series per value of a further label; `Parts` are pairs of that value and a number.
  template <typename Parts>
  void gauges(const char* name, const char* help, const char* label, const Parts& parts) {
    open(name, help, MetricType::Gauge);
    for (const auto& [part, value] : parts)
      add({{label, std::string(part)}}).gauge.value = static_cast<double>(value);
  }
  template <typename Parts>
  void counters(const char* name, const char* help, const char* label, const Parts& parts) {
    open(name, help, MetricType::Counter);
    for (const auto& [part, value] : parts)
      add({{label, std::string(part)}}).counter.value = static_cast<double>(value);
  }
  void histogram(const char* name, const char* help, const Durations& times,
                 const MetricLabels& further = {}) {
    open(name, help, MetricType::Histogram);
    auto& histogram = add(further).histogram;
    std::uint64_t cumulative = 0;
    for (std::size_t i = 0; i < times.counts.size(); ++i) {
      cumulative += times.counts[i];
      const double bound = i < Durations::kBounds.size() ? Durations::kBounds[i]
                                                         : std::numeric_limits<double>::infinity();
      histogram.bucket.push_back({.cumulative_count = cumulative, .upper_bound = bound});
    }
    histogram.sample_count = cumulative;
    histogram.sample_sum = times.sum;
  }

  std::vector<MetricFamily> take() { return std::move(families_); }

 private:
  void open(const char* name, const char* help, MetricType type) {
    MetricFamily family;
    family.name = std::string("sglang:") + name;
    family.help = help;
    family.type = type;
    families_.push_back(std::move(family));
  }
  ClientMetric& add(const MetricLabels& further) {
    ClientMetric& metric = families_.back().metric.emplace_back();
    for (const auto* labels : {&common_, &further})
      for (const auto& [name, value] : *labels) metric.label.push_back({name, value});
    return metric;
  }

  const MetricLabels& common_;
  std::vector<MetricFamily> families_;
};

using Parts = std::vector<std::pair<const char*, double>>;

void add_load(Families& out, const EngineStats& stats) {
  out.gauge("num_running_reqs", "The number of running requests.", stats.running);
  out.gauge("num_queue_reqs", "The number of requests in the waiting queue.", stats.queued);
  out.gauge("num_grammar_queue_reqs", "The number of requests that wait for a grammar.", 0);
  out.gauge("num_used_tokens", "The number of used tokens.", stats.used_tokens);
  out.gauge("token_usage", "The token usage.", share(stats.used_tokens, stats.total_tokens));
  out.gauge("max_total_num_tokens", "The number of tokens the KV cache can hold.",
            stats.total_tokens);
  out.info("cache_config_info", "What the KV cache is made of.",
           {{"page_size", std::to_string(kPageTokens)},
            {"num_pages", std::to_string(stats.total_tokens / kPageTokens)}});
  out.gauge("utilization", "The share of the KV capacity in use or cached.",
            share(stats.used_tokens + stats.cached_tokens, stats.total_tokens));
  out.gauge("gen_throughput", "The generation throughput (token/s).", stats.gen_throughput);
  out.gauge("cache_hit_rate", "The prefix cache hit rate.", stats.cache_hit_rate);
  out.gauge("num_retracted_reqs", "The number of retracted requests.",
            static_cast<double>(stats.retractions));
}

void add_steps(Families& out, const EngineStats& stats, const CpuSeconds& cpu) {
  out.counters("realtime_tokens_total", "Total number of tokens processed, as they are.", "mode",
               Parts{{"prefill_compute", static_cast<double>(stats.computed_prompt_tokens)},
                     {"prefill_cache", static_cast<double>(stats.cached_prompt_tokens)},
                     {"decode", static_cast<double>(stats.generated_tokens)}});
  out.counters("forward_execution_seconds_total", "Total time of steps, by what they computed.",
               "category",
               Parts{{"extend", stats.prompt_step_seconds},
                     {"decode", stats.decode_step_seconds},
                     {"mixed", stats.mixed_step_seconds}});
  out.counters("process_cpu_seconds_total",
               "CPU time of the engine with its compute threads (scheduler) and of all other "
               "threads (tokenizer).",
               "component", Parts{{"scheduler", cpu.named}, {"tokenizer", cpu.others}});
  out.histogram("queue_time_seconds", "Histogram of queueing time in seconds.", stats.queue_time);
}

void add_drafts(Families& out, const ServerConfig& config, const EngineStats& stats) {
  const auto verified = static_cast<double>(stats.verify_steps);
  const auto accepted = static_cast<double>(stats.accepted_drafts);
  const auto proposed = static_cast<double>(stats.proposed_drafts);
  out.gauge("spec_accept_length",
            "Tokens that a verification yields on average, the bonus included.",
            proposed > 0 ? share(accepted + verified, verified) : 0.0);
  out.gauge("spec_accept_rate", "Accepted drafts as a share of proposed ones.",
            share(accepted, proposed));
  out.gauge("spec_num_steps", "Levels of the draft trees.", config.draft_steps);
  out.gauge("spec_num_draft_tokens", "Nodes of a draft tree, the last token of the text included.",
            config.draft_nodes);
  out.counter("spec_verify_calls_total", "Number of verifications, one per sequence and step.",
              verified);
  const MetricLabels method = {
      {"method", config.draft_method.empty() ? "none" : config.draft_method}};
  out.histogram("spec_verify_time_seconds",
                "Histogram of the time of decoding steps without drafting, in seconds.",
                stats.verify_time, method);
  out.histogram("spec_draft_time_seconds",
                "Histogram of the time of drafting in decoding steps, in seconds.",
                stats.draft_time, method);
}

// Of sequences that have left their slots; what several drafters have found counts for each.
void add_drafters(Families& out, const ServerConfig& config, const EngineStats& stats) {
  if (config.drafters.empty()) return;
  Parts proposed, accepted;
  for (std::size_t i = 0; i < std::min(config.drafters.size(), kMostDrafters); ++i) {
    const DraftTally& tally = stats.drafts.by_drafter[i];
    proposed.emplace_back(config.drafters[i].c_str(), static_cast<double>(tally.proposed));
    accepted.emplace_back(config.drafters[i].c_str(), static_cast<double>(tally.accepted));
  }
  out.counters("spec_proposed_drafts_total", "Drafts that were verified, by who found them.",
               "drafter", proposed);
  out.counters("spec_accepted_drafts_total", "Drafts that were accepted, by who found them.",
               "drafter", accepted);
  out.counters(
      "spec_candidate_rows_total",
      "Rows of the draft model, by how their candidates were chosen: the most probable, or "
      "drawn with the sampler's noise.",
      "choice",
      Parts{{"greedy", static_cast<double>(stats.drafts.greedy_rows)},
            {"coupled", static_cast<double>(stats.drafts.coupled_rows)}});
}

void add_constants(Families& out, const ServerConfig& config) {
  out.gauge("weight_memory_usage_gb", "Memory of the weights, draft model included, in GB.",
            gigabytes(config.weight_bytes));
  out.gauge("kv_cache_memory_usage_gb", "Memory of the KV cache, draft model included, in GB.",
            gigabytes(config.kv_bytes));
  out.gauges("startup_time_seconds", "Duration of the start by phase in seconds.", "phase",
             config.startup_phases);
}

}  // namespace

std::vector<MetricFamily> engine_families(const ServerConfig& config, const EngineStats& stats,
                                          const CpuSeconds& cpu, const MetricLabels& labels) {
  Families out(labels);
  add_load(out, stats);
  add_steps(out, stats, cpu);
  add_drafts(out, config, stats);
  add_drafters(out, config, stats);
  add_constants(out, config);
  return out.take();
}

}  // namespace foretoken
