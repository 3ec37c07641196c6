#pragma once
// When a file was written to and when its entry changed: systems name the fields of stat
// differently.

#include <sys/stat.h>

namespace foretoken {

#if defined(__APPLE__)
inline const timespec& modified_at(const struct stat& file) { return file.st_mtimespec; }
inline const timespec& changed_at(const struct stat& file) { return file.st_ctimespec; }
#else
inline const timespec& modified_at(const struct stat& file) { return file.st_mtim; }
inline const timespec& changed_at(const struct stat& file) { return file.st_ctim; }
#endif

}  // namespace foretoken
