#pragma once
// `foretoken-bench ngram`: what drafting from earlier texts costs the host, per sequence and step,
// at a full trie.

namespace foretoken {

int ngram_command();

}  // namespace foretoken
