#pragma once
// FileLock: holds a file against other processes and threads, as Python's filelock does (flock),
// for as long as it lives. The system gives it up when the process ends. One thread at a time.

#include <filesystem>
#include <functional>

namespace foretoken {

class FileLock {
 public:
  // Makes the file and its folders, and waits until nobody else holds it; `on_wait` is called once
  // before waiting. Throws Error when the file cannot be made.
  FileLock(const std::filesystem::path& path, const std::function<void()>& on_wait);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace foretoken
