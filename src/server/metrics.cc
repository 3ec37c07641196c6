#include "server/metrics.h"

#include <map>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace foretoken {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;

const Buckets kFirstTokenSeconds = {0.1, 0.2, 0.4, 0.6, 0.8, 1,  2,   4,   6,
                                    8,   10,  20,  40,  60,  80, 100, 200, 400};
const Buckets kTokenSeconds = {0.002, 0.004, 0.006, 0.008, 0.010, 0.015, 0.020, 0.025,
                               0.030, 0.035, 0.040, 0.060, 0.080, 0.100, 0.200, 0.400,
                               0.600, 0.800, 1.000, 2.000, 4.000, 6.000, 8.000};
const Buckets kRequestSeconds = {0.1, 0.2, 0.4, 0.6, 0.8, 1,   2,   4,   6,    8,    10,
                                 20,  40,  60,  80,  100, 200, 400, 600, 1200, 1800, 2400};
const Buckets kTokens = {100,   300,   500,   700,   1000,  1500,  2000,  3000,
                         4000,  5000,  6000,  7000,  8000,  9000,  10000, 12000,
                         15000, 20000, 22000, 25000, 30000, 35000, 40000, 66000};

double share(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

}  // namespace

struct Metrics::State {
  explicit State(const std::string& model_name)
      : labels{{"model_name", model_name},
               {"engine_type", "unified"},
               {"tp_rank", "0"},
               {"pp_rank", "0"},
               {"dp_rank", "0"}} {}

  Gauge& gauge(const std::string& name, const std::string& help) {
    return prometheus::BuildGauge()
        .Name("sglang:" + name)
        .Help(help)
        .Register(registry)
        .Add(labels);
  }
  Counter& counter(const std::string& name, const std::string& help) {
    return prometheus::BuildCounter()
        .Name("sglang:" + name)
        .Help(help)
        .Register(registry)
        .Add(labels);
  }
  Histogram& histogram(const std::string& name, const std::string& help, const Buckets& buckets) {
    return prometheus::BuildHistogram()
        .Name("sglang:" + name)
        .Help(help)
        .Register(registry)
        .Add(labels, buckets);
  }

  std::map<std::string, std::string> labels;
  prometheus::Registry registry;

  Gauge& running = gauge("num_running_reqs", "The number of running requests.");
  Gauge& queued = gauge("num_queue_reqs", "The number of requests in the waiting queue.");
  Gauge& grammar_queued =
      gauge("num_grammar_queue_reqs", "The number of requests that wait for a grammar.");
  Gauge& used = gauge("num_used_tokens", "The number of used tokens.");
  Gauge& usage = gauge("token_usage", "The token usage.");
  Gauge& capacity = gauge("max_total_num_tokens", "The number of tokens the KV cache can hold.");
  Gauge& utilization = gauge("utilization", "The share of the KV capacity in use or cached.");
  Gauge& throughput = gauge("gen_throughput", "The generation throughput (token/s).");
  Gauge& hit_rate = gauge("cache_hit_rate", "The prefix cache hit rate.");
  Gauge& retracted = gauge("num_retracted_reqs", "The number of retracted requests.");
  Gauge& accept_length = gauge("spec_accept_length",
                               "Tokens that a verification yields on average, the bonus included.");
  Gauge& accept_rate = gauge("spec_accept_rate", "Accepted drafts as a share of proposed ones.");
  Gauge& draft_steps = gauge("spec_num_steps", "Levels of the draft trees.");
  Gauge& draft_nodes =
      gauge("spec_num_draft_tokens", "Nodes of a draft tree, the last token of the text included.");

  Counter& prompt_tokens = counter("prompt_tokens_total", "Number of prefill tokens processed.");
  Counter& generation_tokens =
      counter("generation_tokens_total", "Number of generation tokens processed.");
  Counter& cached_tokens = counter("cached_tokens_total", "Number of cached prompt tokens.");
  Counter& requests = counter("num_requests_total", "Number of requests processed.");
  Counter& aborted = counter("num_aborted_requests_total", "Number of requests aborted.");
  Counter& verify_calls =
      counter("spec_verify_calls_total", "Number of verifications, one per sequence and step.");

  Histogram& first_token =
      histogram("time_to_first_token_seconds", "Histogram of time to first token in seconds.",
                kFirstTokenSeconds);
  Histogram& inter_token = histogram("inter_token_latency_seconds",
                                     "Histogram of inter-token latency in seconds.", kTokenSeconds);
  Histogram& e2e =
      histogram("e2e_request_latency_seconds",
                "Histogram of end-to-end request latency in seconds.", kRequestSeconds);
  Histogram& prompt_lengths =
      histogram("prompt_tokens_histogram", "Histogram of prompt token length.", kTokens);
  Histogram& generation_lengths =
      histogram("generation_tokens_histogram", "Histogram of generation token length.", kTokens);
};

Metrics::Metrics(const ServerConfig& config)
    : state_(std::make_unique<State>(config.served_model_name)) {
  state_->draft_steps.Set(config.draft_steps);
  state_->draft_nodes.Set(config.draft_nodes);
}

Metrics::~Metrics() = default;

void Metrics::observe_first_token(double seconds) { state_->first_token.Observe(seconds); }

void Metrics::observe_tokens(std::int64_t tokens, double seconds) {
  for (std::int64_t i = 0; i < tokens; ++i)
    state_->inter_token.Observe(seconds / static_cast<double>(tokens));
}

void Metrics::observe_finished(const FinishedChoice& choice) {
  State& s = *state_;
  s.requests.Increment();
  if (choice.aborted) s.aborted.Increment();
  s.prompt_tokens.Increment(static_cast<double>(choice.prompt_tokens));
  s.cached_tokens.Increment(static_cast<double>(choice.cached_tokens));
  s.generation_tokens.Increment(static_cast<double>(choice.completion_tokens));
  s.e2e.Observe(choice.e2e_seconds);
  if (choice.prompt_tokens > 0) s.prompt_lengths.Observe(static_cast<double>(choice.prompt_tokens));
  s.generation_lengths.Observe(static_cast<double>(choice.completion_tokens));
}

std::string Metrics::page(const EngineStats& stats) {
  State& s = *state_;
  s.running.Set(stats.running);
  s.queued.Set(stats.queued);
  s.grammar_queued.Set(0);
  s.used.Set(stats.used_tokens);
  s.usage.Set(share(stats.used_tokens, stats.total_tokens));
  s.capacity.Set(stats.total_tokens);
  s.utilization.Set(share(stats.used_tokens + stats.cached_tokens, stats.total_tokens));
  s.throughput.Set(stats.gen_throughput);
  s.hit_rate.Set(stats.cache_hit_rate);
  s.retracted.Set(static_cast<double>(stats.retractions));
  const auto verified = static_cast<double>(stats.verify_steps);
  const auto accepted = static_cast<double>(stats.accepted_drafts);
  s.accept_length.Set(stats.proposed_drafts > 0 ? share(accepted + verified, verified) : 0.0);
  s.accept_rate.Set(share(accepted, static_cast<double>(stats.proposed_drafts)));
  s.verify_calls.Increment(verified - s.verify_calls.Value());
  return prometheus::TextSerializer().Serialize(s.registry.Collect());
}

}  // namespace foretoken
