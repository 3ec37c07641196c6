#pragma once
// What this program calls itself: its version, and the commit it was built from where that is known
// ("0.1.0 (3033bfd4a3b6)", with "-dirty" where the sources were changed). Written by the build, see
// cmake/write_version.cmake.

namespace foretoken {

const char* version_text();

}  // namespace foretoken
