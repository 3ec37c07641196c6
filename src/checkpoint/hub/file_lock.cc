#include "checkpoint/hub/file_lock.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace foretoken {
namespace {

// Its last holder may have removed the file after we opened it: then others lock another one.
bool is_still_at(int file, const std::filesystem::path& path) {
  struct stat held{};
  struct stat there{};
  return fstat(file, &held) == 0 && stat(path.c_str(), &there) == 0 &&
         held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

void wait_for(int file) {
  while (flock(file, LOCK_EX) != 0 && errno == EINTR) continue;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path, const std::function<void()>& on_wait) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  for (bool is_told = false;;) {
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0664);
    if (file_ < 0)
      throw Error({"cannot make a lock file", path.string(), {}, std::strerror(errno)});
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return;  // a file system without locks: downloads are then doubled
      if (!is_told && on_wait) on_wait();
      is_told = true;
      wait_for(file_);
    }
    if (is_still_at(file_, path)) return;
    close(file_);
  }
}

FileLock::~FileLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace foretoken
