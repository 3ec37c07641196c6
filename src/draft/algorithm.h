#pragma once
// Algorithm: all that the program knows of one way of drafting, as a row of one table
// (catalogue/algorithms.cc). Command line, help, memory plan, `foretoken tune`, the benchmarks and
// the invariance matrix iterate the table and know no algorithm by name. So a new drafter is one
// file, which defines its row, and one line in the table (tests/toy_drafter shows one).
// Rows are constants that need no code to be initialised: text, numbers, and functions. What takes
// a model or memory is in load() and make(), which are called when the flags have been read. The
// rows are linked into whatever reads flags, and with them models, but no backend: Ops is abstract.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/flag.h"
#include "base/flag_values.h"
#include "draft/draft_options.h"
#include "draft/draft_setup.h"
#include "draft/drafter.h"
#include "model/draft_model.h"

namespace foretoken {

class DraftPace;
class Ops;

// What make() has to make a drafter from.
struct PartSetup {
  const DraftSetup& setup;  // there during the call
  TreeShape shape;          // of trees that it grows alone
  int num_slots = 0;        // sequences at once
  std::shared_ptr<DraftPace> pace = {};
  // Where a model is run: its KV is allocated. ops outlive the drafter.
  Ops* ops = nullptr;
  std::unique_ptr<DraftModel> model = {};
  int num_pages = 0;
};

// The operator's own texts that an algorithm drafts from.
struct CorpusWish {
  std::int64_t tokens = 0;     // room for all of them together; 0: it drafts from none
  std::string path = {};       // the first of them; empty: none
  std::string_view flag = {};  // that names it
};

// One way of using an algorithm that `foretoken-bench accept` compares, on models of the demo.
struct DraftTrial {
  std::string_view name;
  std::string_view draft = {};      // folder of the draft model; empty: none
  TreeShape shape = {0, 0, 0};      // 0 steps: what follows from the other flags
  std::string_view flags = {};      // others, separated by spaces
  std::string_view token_map = {};  // file
  std::string_view target = "demo";
};

// Flags whose algorithm this program does not have.
inline constexpr std::string_view kMethodNotYet =
    "not supported yet: drafts by this method (the answers would be the same without these flags)";

struct Algorithm {
  enum class Standing {
    kDrafts,   // can be asked for
    kAlias,    // another name for the one that `stands_for` says
    kNotYet,   // a name that is known and refused
    kService,  // drafts where serves() says so, whatever was asked for
  };

  std::string_view name;  // in capitals
  Standing standing = Standing::kDrafts;
  std::string_view stands_for = {};
  std::string_view help = {};  // where its drafts come from: for --speculative-algorithm

  // Its own flags, but for kService and kNotYet called --speculative-<name>-...; null: none.
  std::vector<Flag> (*flags)() = nullptr;
  // Their values into its own options. Throws UsageError.
  void (*read)(const FlagValues& values, OwnOptions& own) = nullptr;
  // What of them does less than it says, one line each.
  std::vector<std::string> (*warnings)(const FlagValues& values, const OwnOptions& own) = nullptr;
  // An environment variable that makes every request greedy where this drafts; empty: none.
  std::string_view greedy_variable = {};

  // The trees that it grows alone. Throws Error for trees that cannot be.
  TreeShape (*shape)(const DraftOptions& options, const std::string& target_architecture) = nullptr;
  bool (*serves)(const DraftOptions& options) = nullptr;  // kService only
  int most_drafts = 0;             // kService: of all trees of a step together
  bool reads_predictions = false;  // a service that does as well is left out beside it
  CorpusWish (*corpora)(const DraftOptions& options) = nullptr;  // null: drafts from none
  // Nodes of the smallest tree that has room for what is wished; null: 2.
  int (*least_nodes)(const OwnOptions& own) = nullptr;
  // Of memory, whatever the cache holds; null: nothing worth planning.
  std::size_t (*bytes)(const DraftOptions& options) = nullptr;

  // Its model is never the target's own: --speculative-draft-model-path must name it.
  bool needs_folder = false;
  // Whether it drafts for this target, by its path, when nobody says who drafts; null: never.
  bool (*drafts_unasked)(const std::string& target) = nullptr;
  // Whether it drafts with what lies at a path, as far as names and configs tell: for hints. null: it
  // drafts with no model.
  bool (*recognizes)(const std::string& path) = nullptr;
  // Throws Error for a draft model that load() would refuse, as far as configs show that: asked
  // before the target's weights are read. null: nothing is known before load().
  void (*check)(const DraftOptions& options, const ModelConfig& target) = nullptr;
  // The draft model, without memory for KV yet; null: it runs none. Throws Error.
  std::unique_ptr<DraftModel> (*load)(Ops& ops, const Decoder& target,
                                      const DraftSetup& setup) = nullptr;
  std::unique_ptr<Drafter> (*make)(PartSetup part) = nullptr;

  std::span<const DraftTrial> trials = {};

  bool runs_model() const { return load != nullptr; }
  bool can_draft() const { return standing == Standing::kDrafts; }
  bool is_service() const { return standing == Standing::kService; }
};

}  // namespace foretoken
