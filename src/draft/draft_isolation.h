#pragma once
// Whose texts may inform whose drafts. Drafts never change a text, but how fast it comes can tell
// that somebody had its words before.

namespace foretoken {

enum class DraftIsolation {
  kRequest,  // a request's own
  kKey,      // those of the same scope: cache salt, else API key
  kShared,   // all
};

}  // namespace foretoken
