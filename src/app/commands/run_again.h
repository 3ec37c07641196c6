#pragma once
// The program once more from its beginning, in this process and with its arguments: how a server
// goes on after its device was lost, since nothing of what the device held is left.

namespace foretoken {

// Whether this program was run again; a second loss is no reason to do it once more.
bool was_run_again();

// Does not return, but with what main returns where the system refuses.
int run_again();

}  // namespace foretoken
