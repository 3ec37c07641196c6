#pragma once
// PagePool: which page ids are free, and how many owners each page has. It moves integers; what a
// page holds belongs to the KvStores. Page is a ref-counted RAII handle: copying shares, destroying
// releases. Not thread-safe: the engine thread owns it. Invariant: every page is free xor has at
// least one handle.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/index.h"
#include "base/types.h"

namespace foretoken {

class PagePool;

class Page {
 public:
  Page() = default;
  Page(const Page& other);
  Page(Page&& other) noexcept;
  Page& operator=(Page other) noexcept;
  ~Page();

  PageId id() const { return id_; }
  explicit operator bool() const { return pool_ != nullptr; }
  int owners() const;  // handles to this page

 private:
  friend class PagePool;
  Page(PagePool* pool, PageId id) : pool_(pool), id_(id) {}
  PagePool* pool_ = nullptr;
  PageId id_ = -1;
};

// Told, by the pool, when a page gets a second owner and when it is down to one again. Called in
// the middle of copying or releasing a handle: must not take or release pages itself.
class PageWatcher {
 public:
  virtual void page_shared(PageId page) = 0;
  virtual void page_alone(PageId page) = 0;

 protected:
  ~PageWatcher() = default;
};

class PagePool {
 public:
  explicit PagePool(int num_pages);
  ~PagePool();  // CHECKs that no handle is left
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  std::optional<Page> take();  // nullopt when none is free
  int num_pages() const { return static_cast<int>(owners_.size()); }
  int num_free() const { return static_cast<int>(free_.size()); }
  int owners(PageId page) const { return owners_[at(page)]; }
  std::vector<PageId> free_pages() const;  // ascending

  // One at a time; null: none any more.
  void watch(PageWatcher* watcher);

  // One sentence naming the first broken invariant, or empty.
  std::string check_integrity() const;

 private:
  friend class Page;
  void retain(PageId page);
  void release(PageId page);
  std::vector<std::int32_t> owners_;
  PageWatcher* watcher_ = nullptr;
  std::vector<PageId> free_;  // last in, first out: recently used pages are warm
};

}  // namespace foretoken
