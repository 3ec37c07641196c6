#pragma once
// The subcommands. Each gets the words after its name, runs to its end and returns the exit code;
// what keeps it from starting is thrown (UsageError, Error).

#include <span>
#include <string>

namespace foretoken {

int serve(std::span<const std::string> args);     // loads a model and answers HTTP until a signal
int generate(std::span<const std::string> args);  // continues one prompt on standard output
int tune(std::span<const std::string> args);      // records, replays, recommends ways to draft
int tokenize(std::span<const std::string> args);  // JSON lines in, token ids out
int inspect(std::span<const std::string> args);   // says what a model is, without loading it

}  // namespace foretoken
