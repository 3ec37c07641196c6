#include "app/host/check_start.h"

#include "backend/backend.h"
#include "base/threads.h"
#include "draft/catalogue/plan_drafts.h"
#include "text/chat_template.h"

namespace foretoken {

void check_start(const Options& options) {
  ThreadPool pool(1, false);
  make_backend(options.backend, pool);
  check_draft_wishes(options.draft);
  if (!options.load.chat_template.empty())
    ChatTemplate::load(FolderFiles(""), TokenizerConfig{}, options.load.chat_template);
}

Options resolve_checked_options(const FlagValues& values, const Environment& environment,
                                DefaultModel usual) {
  OptionsOnTheWay options(values, environment, usual);
  if (options.downloads()) check_start(options.so_far());
  return options.finish();
}

}  // namespace foretoken
