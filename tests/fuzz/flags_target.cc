// Command lines: one argument per line, the first may name the command.

#include <algorithm>
#include <string>
#include <vector>

#include "app/flags/flag_parser.h"
#include "app/options/resolve_options.h"
#include "app/options/tune_options.h"
#include "kit.h"
#include "targets.h"

namespace foretoken::fuzz {

void flags(std::string_view input) {
  // The demo's folder may not be there: every command line names one that is.
  static const InputFolder folder;
  static const FlagTable kServe = serve_flags(), kGenerate = generate_flags(),
                         kTokenize = tokenize_flags(), kTune = tune_flags();
  std::vector<std::string> args;
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    args.emplace_back(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  const std::string command = args.empty() ? "" : args[0];
  const FlagTable& table = command == "generate"   ? kGenerate
                           : command == "tokenize" ? kTokenize
                           : command == "tune"     ? kTune
                                                   : kServe;
  if (&table != &kServe || command == "serve") args.erase(args.begin());
  args.insert(args.begin(), {"--model-path", folder.path()});
  Environment environment;
  environment.hub.cache = folder.path();
  environment.hub.offline = true;
  may_refuse([&] {
    const FlagValues values = parse_flags(args, table);
    notes_of(values);
    if (&table == &kTune) resolve_tune_options(values);
    if (&table == &kTokenize)
      resolve_text_options(values, environment);
    else
      resolve_options(values, environment);
  });
}

}  // namespace foretoken::fuzz
