#pragma once
// `foretoken-bench accept`: lets each method of drafting answer the same prompts, compares the
// texts with those of plain decoding, and prints accept lengths and speeds.

namespace foretoken {

// argv[0] is the program's name for the help. The exit code: 1 where a text differs. Throws Error.
int accept_command(int argc, char** argv);

}  // namespace foretoken
