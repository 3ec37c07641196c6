#pragma once
// foretoken-bench suffix: what drafts from suffix trees cost the host, per sequence and step.

namespace foretoken {

int suffix_command();

}  // namespace foretoken
