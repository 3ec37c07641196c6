#pragma once
// TuneReport: everything that tuning found out, and how it is told: a table for the terminal, JSON,
// and a page of HTML with plots that needs nothing but itself. Pure functions of plain data.

#include <string>
#include <vector>

#include "tune/replay.h"

namespace foretoken {

struct TuneReport {
  struct Row {  // a setting
    TuneSetting setting;
    std::vector<ReplayResult> results;  // by batch size
  };
  struct Check {  // a setting that was run for real
    std::size_t row = 0;
    std::size_t batch_size = 0;  // index
    double accept_length = 0, tokens_per_second = 0;
    double plain_tokens_per_second = 0;
    // By what steps cost in the same minutes.
    ReplayResult predicted = {}, predicted_plain = {};

    double speedup() const;
    double predicted_speedup() const;
  };

  RecordIdentity identity;
  std::string record_path;
  std::size_t texts = 0, tokens = 0;
  CostTable costs;
  std::vector<int> batch_sizes;
  std::vector<Row> rows;  // the first one decodes plainly
  std::vector<Check> checks;
  double record_seconds = 0, cost_seconds = 0, replay_seconds = 0, check_seconds = 0;

  const ReplayResult& result(std::size_t row, std::size_t batch) const {
    return rows[row].results[batch];
  }
  // Tokens per second over those of plain decoding.
  double speedup(std::size_t row, std::size_t batch) const;
  // The fastest row for `batch` requests at once; 0: plain decoding.
  std::size_t best(std::size_t batch) const;
  // Requests at once from which on a row is slower than plain decoding, between batch sizes by
  // interpolation; 0: it always is; negative: it never is, as far as was looked.
  double crossing(std::size_t row) const;
};

std::string report_table(const TuneReport& report);
std::string report_checks(const TuneReport& report);
std::string report_json(const TuneReport& report);
std::string report_html(const TuneReport& report);

// Text as it may stand in HTML, in attributes too.
std::string html_escaped(std::string_view text);

// The flags as they are typed in a shell.
std::string shell_line(const std::vector<std::string>& flags);

}  // namespace foretoken
