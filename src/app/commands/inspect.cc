#include <cstdio>
#include <string>
#include <vector>

#include "app/commands/commands.h"
#include "app/flags/flag_match.h"
#include "app/flags/flag_parser.h"
#include "app/flags/flag_table.h"
#include "app/host/model_report.h"
#include "app/options/resolve_options.h"
#include "base/log.h"

namespace foretoken {

// `foretoken inspect MODEL` is short for --model MODEL.
int inspect(std::span<const std::string> args) {
  auto [names, values] = parse_names_and_flags(args, inspect_flags());
  if (names.size() + (values.given("--model-path") ? 1 : 0) > 1)
    throw UsageError({.what = "more than one model", .expected = "one", .found = names.front()});
  if (!names.empty()) values.set(match_flag("--model-path", values.table()), names);
  set_log_level(LogLevel::kError);  // the report says all
  const auto environment = Environment::from_process();
  ReportWishes wishes{
      .context = {},
      .requests = static_cast<int>(integer_within(values, "--max-running-requests", 1, 1 << 16)),
      .cache = hub_settings(values, environment).cache};
  if (values.given("--context-length"))
    wishes.context = integer_within(values, "--context-length", 1, 1 << 30);
  const ModelReport report = inspect_model(resolve_text_options(values, environment), wishes);
  const std::string text = values.on("--json") ? report_json(report) : report_text(report);
  std::fputs(text.c_str(), stdout);
  return report.faults.empty() ? 0 : 1;
}

}  // namespace foretoken
