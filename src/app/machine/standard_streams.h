#pragma once
// The standard streams as the program finds and leaves them. Not what is written to them.

#include <string>

namespace foretoken {

// Opens /dev/null for those of the three that are closed, so that no file or connection takes their
// number and with it what is printed. Before anything else is opened.
void open_closed_streams();

// Why some of what was printed to standard output cannot be written; empty: all of it is.
std::string output_fault();

}  // namespace foretoken
