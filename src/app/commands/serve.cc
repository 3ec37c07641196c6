#include <csignal>
#include <future>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "app/commands/commands.h"
#include "app/commands/run_again.h"
#include "app/commands/served_model.h"
#include "app/host/check_start.h"
#include "app/options/server_args.h"
#include "app/options/start_table.h"
#include "base/log.h"

namespace foretoken {
namespace {

std::string address_of(const std::string& host, int port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port);
}

}  // namespace

int serve(std::span<const std::string> args) {
  const auto start = ServedModel::Clock::now();
  std::signal(SIGPIPE, SIG_IGN);  // the reader of the log may end
  const FlagValues values = parse_flags(args, serve_flags());
  const Environment environment = Environment::from_process();
  OptionsOnTheWay on_the_way(values, environment);
  Options options = on_the_way.so_far();
  set_log_level(options.log_level);
  std::unique_ptr<ServedModel> served;
  const auto bind = [&] {
    served = std::make_unique<ServedModel>(options, start);
    log_info("Bound {}: requests are refused with 503 until the model is loaded.",
             address_of(options.server.host, served->port()));
  };
  if (on_the_way.downloads()) {
    check_start(options);
    bind();
  }
  options = on_the_way.finish();
  for (const std::string& line : start_table(options)) log_info("{}", line);
  log_debug("server_args={}", describe_server_args(options.server.server_args));
  for (const auto& warning : options.warnings) log_warning("{}", warning);
  for (const auto& note : options.notes) log_info("{}", note);

  if (!served) bind();
  ServedModel& model = *served;
  if (!was_run_again()) model.stop_when_device_is_lost();
  model.load();
  log_info("Listening on {}", address_of(options.server.host, model.port()));
  log_info("The server is fired up and ready to roll!");
  {
    const auto hint = std::async(std::launch::async, [&] { model.name_drafters(); });
    model.run();
  }
  if (was_run_again() || !model.has_lost_device()) return 0;
  log_warning("The device was lost: the model is loaded once more.");
  served.reset();  // and with it the port
  return run_again();
}

}  // namespace foretoken
