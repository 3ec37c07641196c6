#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/commands/commands.h"
#include "app/commands/tune_hosts.h"
#include "app/host/check_start.h"
#include "app/host/draft_vocabulary.h"
#include "base/file.h"
#include "base/index.h"
#include "base/log.h"
#include "base/seconds_since.h"
#include "draft/catalogue/plan_drafts.h"
#include "tune/progress.h"
#include "tune/tune_report.h"
#include "tune/usual_pace.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

// Set by Ctrl-C. The second one ends the program as if nobody listened.
std::atomic<bool> stop_wanted = false;

void listen_for_stop() {
  struct sigaction action = {};
  action.sa_handler = [](int) { stop_wanted = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

// Adds how long it took to `seconds`.
template <typename Work>
void timed(double& seconds, Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  seconds += seconds_since(start);
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (!file) throw Error({.what = "cannot write", .where = path.string()});
}

class Tuning {
 public:
  Tuning(const FlagValues& values, Options options, TuneOptions tune)
      : is_model_given_(values.given("--model-path")),
        options_(std::move(options)),
        tune_(std::move(tune)) {
    for (const char* flag :
         {"--speculative-draft-model-path", "--speculative-draft-model-revision",
          "--speculative-draft-load-format", "--speculative-draft-model-quantization",
          "--speculative-draft-kv-cache-dtype", "--speculative-token-map",
          "--speculative-draft-window-size"})
      if (values.given(flag)) model_flags_.insert(model_flags_.end(), {flag, values.text(flag)});
    std::error_code fault;
    fs::create_directories(tune_.out, fault);
    if (fault) throw Error({.what = "cannot make a folder", .where = "--out", .found = tune_.out});
  }

  int run() {
    if (tune_.replay.empty())
      make_record();
    else
      take_record();
    if (stop_wanted) return stopped();
    if (tune_.record_only) return 0;
    find_costs();
    if (stop_wanted) return stopped();
    timed(report_.replay_seconds, [&] { replay_all(); });
    std::fputs(report_table(report_).c_str(), stdout);
    write_report();
    if (tune_.validate > 0 && !stop_wanted) {
      timed(report_.check_seconds, [&] { validate(); });
      std::fputs(report_checks(report_).c_str(), stdout);
      write_report();
    }
    fmt::print("Report: {}\n", path("report.html"));
    return 0;
  }

 private:
  std::string path(const char* name) const { return (fs::path(tune_.out) / name).string(); }

  int stopped() const {
    constexpr int kInterrupted = 130;
    std::fprintf(stderr, "Interrupted. What was recorded is in %s; go on with --replay.\n",
                 report_.record_path.c_str());
    return kInterrupted;
  }

  // ---- the record

  void make_record() {
    auto prompts = tune_.prompts.empty() ? usual_prompt_texts() : read_prompt_texts(tune_.prompts);
    if (tune_.limit > 0 && prompts.size() > at(tune_.limit)) prompts.resize(at(tune_.limit));
    const TextHost text(options_.load);
    check_draft_vocabulary(text.tokenizer, options_);
    report_.record_path = path("record.bin");
    {
      Progress progress(stderr, "Recording");
      timed(report_.record_seconds, [&] {
        record(options_, tune_, text, prompts, identity_of(options_, tune_), report_.record_path,
               stop_wanted, [&](double share) { progress.show(share); });
      });
    }
    read_back();
    if (!stop_wanted)
      std::fprintf(stderr, "Recorded %zu answers of %zu tokens: %s\n", report_.texts,
                   report_.tokens, report_.record_path.c_str());
  }

  void take_record() {
    report_.record_path = tune_.replay;
    read_back();
    if (record_.is_cut)
      log_warning("The end of {} is missing; {} answers are whole.", tune_.replay, report_.texts);
    // Without a model nothing can be compared, and nothing is run.
    if (is_model_given_ || tune_.validate > 0)
      check_identity(record_.identity, identity_of(options_, tune_), tune_.replay);
    else if (const std::string asked = model_algorithm(options_.draft);
             !asked.empty() && asked != record_.identity.algorithm)
      throw Error(
          {.what = "the record has no candidates of this algorithm",
           .where = tune_.replay,
           .expected = asked,
           .found = record_.identity.algorithm.empty() ? "none" : record_.identity.algorithm});
  }

  void read_back() {
    record_ = read_record(report_.record_path);
    report_.identity = record_.identity;
    report_.texts = record_.texts.size();
    for (const RecordedText& text : record_.texts) report_.tokens += text.output.size();
    if (record_.texts.empty() && !stop_wanted)
      throw Error({.what = "the record has no answers", .where = report_.record_path});
  }

  // ---- costs

  // Where the draft model comes from: from the record where that is replayed on another machine.
  std::vector<std::string> model_flags() const {
    const RecordIdentity& identity = record_.identity;
    const bool is_given = std::ranges::count(model_flags_, "--speculative-draft-model-path") > 0;
    std::vector<std::string> flags = model_flags_;
    if (!is_given && !identity.draft.empty() && identity.draft != identity.model)
      flags.insert(flags.begin(), {"--speculative-draft-model-path", identity.draft});
    return flags;
  }

  void find_costs() {
    base_ = {.draft = options_.draft,
             .algorithm = record_.identity.algorithm,
             .architecture = record_.identity.architecture,
             .flags = model_flags(),
             .steps = record_.identity.steps,
             .topk = record_.identity.topk};
    report_.batch_sizes = tune_.batch_sizes;
    if (!tune_.costs.empty()) {
      const auto text = read_file(tune_.costs);
      if (!text) throw Error({.what = "there are no costs", .where = tune_.costs});
      report_.costs = CostTable::parse(*text, tune_.costs);
    } else if (!record_.costs.empty()) {
      report_.costs = CostTable::parse(record_.costs, report_.record_path);
    } else if (tune_.replay.empty()) {
      timed(report_.cost_seconds, [&] { measure_all(); });
    } else {
      log_warning("Nobody knows what steps cost: give --costs for speeds.");
    }
  }

  void measure_all() {
    Progress progress(stderr, "Measuring costs");
    const auto sizes = static_cast<double>(tune_.batch_sizes.size());
    report_.costs.machine = record_.identity.backend;
    for (std::size_t i = 0; i < tune_.batch_sizes.size() && !stop_wanted; ++i) {
      CostProbe probe(options_, base_, record_, tune_.batch_sizes[i]);
      probe.work(tune_.measure_seconds, stop_wanted,
                 [&](double share) { progress.show((static_cast<double>(i) + share) / sizes); });
      report_.costs.at_once[tune_.batch_sizes[i]] = probe.take();
    }
    if (stop_wanted) return;
    const std::string json = report_.costs.to_json();
    write_file(path("costs.json"), json);
    RecordWriter::append_costs(report_.record_path, json);
  }

  // ---- replaying

  void replay_all() {
    add_row(plain_setting());
    std::vector<TuneSetting> settings = first_settings(base_);
    Progress progress(stderr, "Replaying");
    for (std::size_t i = 0; i < settings.size() && !stop_wanted; ++i) {
      add_row(std::move(settings[i]));
      progress.show(0.8 * static_cast<double>(i + 1) / static_cast<double>(settings.size()));
    }
    const auto further = further_settings(base_, best_shapes());
    for (std::size_t i = 0; i < further.size() && !stop_wanted; ++i) {
      add_row(further[i]);
      progress.show(0.8 + 0.2 * static_cast<double>(i + 1) / static_cast<double>(further.size()));
    }
    progress.show(1);
  }

  void add_row(TuneSetting setting) {
    TuneReport::Row row{.setting = std::move(setting), .results = {}};
    for (const int at_once : tune_.batch_sizes)
      row.results.push_back(replayed(row.setting, at_once,
                                     report_.costs.empty() ? nullptr : &report_.costs.of(at_once)));
    report_.rows.push_back(std::move(row));
  }

  ReplayResult replayed(const TuneSetting& setting, int at_once, const StepCosts* costs) const {
    return replay(record_, setting,
                  {.at_once = at_once,
                   .costs = costs,
                   .chunked_prefill_size = options_.engine.chunked_prefill_size,
                   .max_prefill_tokens = options_.engine.max_prefill_tokens});
  }

  // At each batch size the best few of the model's shapes, each once.
  std::vector<TuneSetting> best_shapes() const {
    constexpr std::size_t kFew = 3;
    std::vector<std::size_t> chosen;
    for (std::size_t batch = 0; batch < tune_.batch_sizes.size(); ++batch) {
      std::vector<std::size_t> order;
      for (std::size_t row = 1; row < report_.rows.size(); ++row)
        if (report_.rows[row].setting.plan.model.steps > 0) order.push_back(row);
      std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        const ReplayResult &x = report_.result(a, batch), &y = report_.result(b, batch);
        return x.seconds > 0 ? x.tokens_per_second() > y.tokens_per_second()
                             : x.accept_length() > y.accept_length();
      });
      for (std::size_t i = 0; i < std::min(kFew, order.size()); ++i)
        if (std::ranges::count(chosen, order[i]) == 0) chosen.push_back(order[i]);
    }
    std::vector<TuneSetting> settings;
    for (const std::size_t row : chosen) settings.push_back(report_.rows[row].setting);
    return settings;
  }

  // ---- for real

  // Of all rows as many, evenly by what they promise, the best first; of each batch size in turn.
  void validate() {
    Progress progress(stderr, "Running for real");
    std::vector<TuneReport::Check> checks = choose_checks();
    std::size_t done = 0;
    for (std::size_t batch = 0; batch < tune_.batch_sizes.size(); ++batch) {
      std::unique_ptr<RealRun> plain;
      std::unique_ptr<CostProbe> probe;
      for (TuneReport::Check& check : checks) {
        if (check.batch_size != batch || stop_wanted) continue;
        const int at_once = tune_.batch_sizes[batch];
        if (!plain) {
          plain = std::make_unique<RealRun>(options_, report_.rows[0].setting, record_, at_once);
          probe = std::make_unique<CostProbe>(options_, base_, record_, at_once);
        }
        if (!run_for_real(*plain, *probe, check)) return;
        report_.checks.push_back(check);
        progress.show(static_cast<double>(++done) / static_cast<double>(checks.size()));
      }
    }
  }

  std::vector<TuneReport::Check> choose_checks() const {
    std::vector<TuneReport::Check> checks;
    const std::size_t sizes = tune_.batch_sizes.size(), wanted = at(tune_.validate);
    for (std::size_t batch = 0; batch < sizes; ++batch) {
      std::vector<std::size_t> order;
      for (std::size_t row = 1; row < report_.rows.size(); ++row) order.push_back(row);
      std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return report_.result(a, batch).tokens_per_second() >
               report_.result(b, batch).tokens_per_second();
      });
      const std::size_t share = wanted / sizes + (batch < wanted % sizes ? 1 : 0);
      const std::size_t count = std::min(share, order.size());
      for (std::size_t i = 0; i < count; ++i) {
        TuneReport::Check check;
        check.row = order[count == 1 ? 0 : i * (order.size() - 1) / (count - 1)];
        check.batch_size = batch;
        checks.push_back(check);
      }
    }
    return checks;
  }

  // In turns with plain decoding and with a look at the costs, because machines have slow minutes:
  // the prediction is to be of the same ones. False: it was to stop before all rounds were run.
  bool run_for_real(RealRun& plain, CostProbe& probe, TuneReport::Check& check) {
    constexpr double kProbeSeconds = 0.5;  // of a round
    const TuneSetting& setting = report_.rows[check.row].setting;
    const int at_once = tune_.batch_sizes[check.batch_size];
    RealRun drafted(options_, setting, record_, at_once);
    std::vector<double> plain_paces, paces;  // seconds per token
    RealRun::Result all;
    drafted.run();  // a pace that measures does so here
    for (int round = 0; round < tune_.rounds; ++round) {
      const RealRun::Result without = plain.run(), with = drafted.run();
      plain_paces.push_back(without.seconds / static_cast<double>(without.tokens));
      paces.push_back(with.seconds / static_cast<double>(with.tokens));
      probe.work(kProbeSeconds, stop_wanted, [](double) {});
      all.steps += with.steps;
      all.accepted += with.accepted;
      if (stop_wanted) return false;
    }
    if (all.steps > 0)
      check.accept_length = 1 + static_cast<double>(all.accepted) / static_cast<double>(all.steps);
    check.plain_tokens_per_second = usual_pace(std::move(plain_paces));
    check.tokens_per_second = usual_pace(std::move(paces));
    const StepCosts costs = probe.take();
    check.predicted = replayed(setting, at_once, &costs);
    check.predicted_plain = replayed(report_.rows[0].setting, at_once, &costs);
    return true;
  }

  void write_report() const {
    write_file(path("report.json"), report_json(report_));
    write_file(path("report.html"), report_html(report_));
  }

  const bool is_model_given_;
  const Options options_;
  const TuneOptions tune_;
  std::vector<std::string> model_flags_;
  Record record_;
  SettingBase base_;
  TuneReport report_;
};

}  // namespace

int tune(std::span<const std::string> args) {
  const FlagValues values = parse_flags(args, tune_flags());
  TuneOptions tune = resolve_tune_options(values);
  const bool runs_model = tune.replay.empty() || tune.validate > 0;
  Options options = resolve_checked_options(values, Environment::from_process(),
                                            runs_model ? DefaultModel::kDemo : DefaultModel::kNone);
  set_log_level(values.given("--log-level") ? options.log_level : LogLevel::kError);
  for (const auto& note : options.notes) log_info("{}", note);
  if (options.simulation.length > 0)
    throw UsageError("foretoken tune measures what is accepted: leave out --simulate-acc-len");
  if (values.given("--draft-coupling") && options.draft.coupling != Coupling::kNever)
    throw UsageError("foretoken tune: drafts that are drawn (--draft-coupling) are not recorded");
  options.draft.coupling = Coupling::kNever;
  listen_for_stop();
  return Tuning(values, std::move(options), std::move(tune)).run();
}

}  // namespace foretoken
