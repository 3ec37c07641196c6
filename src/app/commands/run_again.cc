#include "app/commands/run_again.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/log.h"

namespace foretoken {
namespace {

constexpr const char* kMark = "FORETOKEN_RUN_AGAIN";  // of the environment

// As the system has started this process, a loader that was named included.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

}  // namespace

bool was_run_again() { return std::getenv(kMark) != nullptr; }

int run_again() {
  std::vector<std::string> arguments = own_arguments();
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  setenv(kMark, "1", 1);
  execv("/proc/self/exe", pointers.data());
  log_error("The program cannot be run again: {}.", std::strerror(errno));
  return 1;
}

}  // namespace foretoken
