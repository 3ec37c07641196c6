#pragma once
// For tests: every kernel table that products of codes can be computed with, by name: those of the
// instruction sets of the processor's family, with each instruction for codes, and the model of
// tiles.

#include <string>
#include <vector>

#include "backend/cpu/table/kernels.h"

namespace foretoken {

struct NamedTable {
  std::string name;
  bool exists;  // on this machine
  KernelTable (*make)();
};

std::vector<NamedTable> kernel_tables();

}  // namespace foretoken
