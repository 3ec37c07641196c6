#include "server/context/metrics.h"

#include <array>
#include <iterator>
#include <string_view>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "server/context/engine_metrics.h"

namespace foretoken {
namespace {

using prometheus::Counter;
using prometheus::Family;
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

// Threads of the engine and of the pool that computes for it.
constexpr std::array<std::string_view, 2> kEngineThreads = {"engine", "compute"};

MetricLabels http_labels(std::string_view endpoint, std::string_view method) {
  return {{"endpoint", std::string(endpoint)}, {"method", std::string(method)}};
}

}  // namespace

struct Metrics::State {
  explicit State(const ServerConfig& server_config)
      : config(server_config),
        labels{{"model_name", config.served_model_name},
               {"engine_type", "unified"},
               {"tp_rank", "0"},
               {"pp_rank", "0"},
               {"dp_rank", "0"}} {}

  template <typename Metric>
  Family<Metric>& family(prometheus::detail::Builder<Metric> builder, const std::string& name,
                         const std::string& help) {
    return builder.Name("sglang:" + name).Help(help).Register(registry);
  }
  Counter& counter(const std::string& name, const std::string& help) {
    return family(prometheus::BuildCounter(), name, help).Add(labels);
  }
  Histogram& histogram(const std::string& name, const std::string& help, const Buckets& buckets) {
    return family(prometheus::BuildHistogram(), name, help).Add(labels, buckets);
  }

  const ServerConfig& config;
  const MetricLabels labels;
  prometheus::Registry registry;

  Counter& prompt_tokens = counter("prompt_tokens_total", "Number of prefill tokens processed.");
  Counter& generation_tokens =
      counter("generation_tokens_total", "Number of generation tokens processed.");
  Counter& cached_tokens = counter("cached_tokens_total", "Number of cached prompt tokens.");
  Counter& requests = counter("num_requests_total", "Number of requests processed.");
  Counter& aborted = counter("num_aborted_requests_total", "Number of requests aborted.");

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

  Family<Counter>& http_requests = family(prometheus::BuildCounter(), "http_requests_total",
                                          "Total number of HTTP requests by endpoint and method");
  Family<Counter>& http_responses =
      family(prometheus::BuildCounter(), "http_responses_total",
             "Total number of HTTP responses by endpoint and status code");
  Family<Gauge>& http_active = family(prometheus::BuildGauge(), "http_requests_active",
                                      "Number of currently active HTTP requests");
};

Metrics::Metrics(const ServerConfig& config) : state_(std::make_unique<State>(config)) {}

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

void Metrics::observe_request_began(std::string_view endpoint, std::string_view method) {
  const MetricLabels labels = http_labels(endpoint, method);
  state_->http_requests.Add(labels).Increment();
  state_->http_active.Add(labels).Increment();
}

void Metrics::observe_response(std::string_view endpoint, std::string_view method, int status) {
  MetricLabels labels = http_labels(endpoint, method);
  labels.emplace("status_code", std::to_string(status));
  state_->http_responses.Add(labels).Increment();
}

void Metrics::observe_request_ended(std::string_view endpoint, std::string_view method) {
  state_->http_active.Add(http_labels(endpoint, method)).Decrement();
}

std::string Metrics::page(const EngineStats& stats) const {
  auto families =
      engine_families(state_->config, stats, cpu_seconds(kEngineThreads), state_->labels);
  auto fed = state_->registry.Collect();
  families.insert(families.end(), std::make_move_iterator(fed.begin()),
                  std::make_move_iterator(fed.end()));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace foretoken
