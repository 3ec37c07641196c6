#pragma once
// `speculative` of a generating request, an extension of ours: what its client wishes of the drafts
// for it. Changes no token. What it is told in return: told_drafts.h.

#include <optional>

#include "engine/request.h"
#include "server/context/server_config.h"
#include "server/json/json_fields.h"

namespace foretoken {

// {"enabled": whether anything is drafted, "max_nodes": of its trees, root included, "drafters":
// names of those that may draft, "trace": whether each step is told}, each optional; nullopt: the
// body has none.
std::optional<DraftWish> read_draft_wish(Fields& body, const ServerConfig& config);

}  // namespace foretoken
