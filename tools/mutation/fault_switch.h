// Which of the faults that tools/mutate.py --draw has compiled in is on: the one whose number stands
// in the environment as FORETOKEN_FAULT. With FORETOKEN_FAULT_RECORD=FILE none is on, and the file
// gets a line for every fault and test case that reached it: "<fault> <suite>.<case>".
// No part of the project: it is written into a work tree that holds faults, and nowhere else.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

// Of GoogleTest, where the program holds it.
extern "C" {
void* ft_unit_test() __asm__("_ZN7testing8UnitTest11GetInstanceEv") __attribute__((weak));
const std::string* ft_test_info(const void*) __asm__("_ZNK7testing8UnitTest17current_test_infoEv")
    __attribute__((weak));
}

inline int ft_number_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? -1 : std::atoi(value);
}
inline const int ft_fault_on = ft_number_of("FORETOKEN_FAULT");
inline const char* const ft_record = std::getenv("FORETOKEN_FAULT_RECORD");

// Where a fault was reached last, and how often since: what is reached in a hot loop is looked at
// rarely, until another fault sees that the case is another one. A TestInfo begins with the names of
// its suite and its case.
struct FtReached {
  std::atomic<const void*> by{nullptr};
  std::atomic<unsigned> times{0}, cases{0};
};
inline FtReached ft_reached[16384];
inline std::atomic<const void*> ft_case{nullptr};
inline std::atomic<unsigned> ft_cases{0};

inline void ft_reach(int fault) {
  FtReached& reached = ft_reached[fault & 16383];
  const unsigned times = reached.times.fetch_add(1, std::memory_order_relaxed);
  const unsigned cases = ft_cases.load(std::memory_order_relaxed);
  if (times > 4000 && times % 64 != 0 && reached.cases == cases) return;
  reached.cases = cases;
  const std::string* info = ft_unit_test ? ft_test_info(ft_unit_test()) : nullptr;
  const void* by = info == nullptr ? static_cast<const void*>(&ft_reached) : info;
  if (ft_case.exchange(by) != by) ++ft_cases;
  if (reached.by.exchange(by) == by) return;
  reached.times = 0;
  char line[400];
  const int size = info == nullptr
                       ? std::snprintf(line, sizeof line, "%d -\n", fault)
                       : std::snprintf(line, sizeof line, "%d %s.%s\n", fault, info[0].c_str(),
                                       info[1].c_str());
  const int file = open(ft_record, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return;
  if (write(file, line, static_cast<std::size_t>(size)) < 0) std::abort();
  close(file);
}

// Of what was a constant: no compiler evaluates it, and where it must, the fault does not compile.
inline bool ft_fault_in_constant(int fault) {
  if (ft_record != nullptr) [[unlikely]] {
    ft_reach(fault);
    return false;
  }
  return ft_fault_on == fault;
}

// False while the compiler evaluates a constant.
constexpr bool ft_fault(int fault) {
  return !std::is_constant_evaluated() && ft_fault_in_constant(fault);
}
