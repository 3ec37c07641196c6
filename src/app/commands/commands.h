#pragma once
// The subcommands. Each gets the words after its name, runs to its end and returns the exit code;
// what keeps it from starting is thrown (UsageError, Error).

#include <exception>
#include <span>
#include <string>

namespace foretoken {

// Says what keeps the program from going on, as main() does for what it catches, and ends it: for
// threads beside main's.
[[noreturn]] void end_program(const std::exception& fault);

int serve(std::span<const std::string> args);  // loads a model and answers HTTP until a signal
int chat(std::span<const std::string> args);   // a chat in the terminal, with a server or a model
int generate(std::span<const std::string> args);       // continues one prompt on standard output
int tune(std::span<const std::string> args);           // records, replays, recommends ways to draft
int tokenize(std::span<const std::string> args);       // JSON lines in, token ids out
int inspect(std::span<const std::string> args);        // says what a model is, without loading it
int pull_models(std::span<const std::string> args);    // from the hub into the cache
int list_models(std::span<const std::string> args);    // prints what the cache holds
int list_devices(std::span<const std::string> args);   // prints the GPUs that there are
int remove_models(std::span<const std::string> args);  // from the cache

}  // namespace foretoken
