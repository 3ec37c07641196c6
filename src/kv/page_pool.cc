#include "kv/page_pool.h"

#include <algorithm>

#include <utility>

#include "base/error.h"
#include "base/index.h"

namespace foretoken {

Page::Page(const Page& other) : pool_(other.pool_), id_(other.id_) {
  if (pool_) pool_->retain(id_);
}

Page::Page(Page&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), id_(std::exchange(other.id_, -1)) {}

Page& Page::operator=(Page other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(id_, other.id_);
  return *this;
}

Page::~Page() {
  if (pool_) pool_->release(id_);
}

int Page::owners() const { return pool_ ? pool_->owners(id_) : 0; }

PagePool::PagePool(int num_pages) : owners_(at(num_pages), 0) {
  free_.reserve(owners_.size());
  for (PageId page = num_pages - 1; page >= 0; --page) free_.push_back(page);
}

PagePool::~PagePool() {
  CHECK(free_.size() == owners_.size())
      << owners_.size() - free_.size() << " pages still have handles when their pool ends";
}

std::optional<Page> PagePool::take() {
  if (free_.empty()) return std::nullopt;
  const PageId page = free_.back();
  free_.pop_back();
  owners_[at(page)] = 1;
  return Page(this, page);
}

std::vector<PageId> PagePool::free_pages() const {
  std::vector<PageId> pages = free_;
  std::ranges::sort(pages);
  return pages;
}

void PagePool::watch(PageWatcher* watcher) {
  CHECK(watcher == nullptr || watcher_ == nullptr) << "two watch one pool";
  watcher_ = watcher;
}

void PagePool::retain(PageId page) {
  if (++owners_[at(page)] == 2 && watcher_) watcher_->page_shared(page);
}

void PagePool::release(PageId page) {
  auto& owners = owners_[at(page)];
  CHECK(owners > 0) << "page " << page << " released twice";
  if (--owners == 0)
    free_.push_back(page);
  else if (owners == 1 && watcher_)
    watcher_->page_alone(page);
}

std::string PagePool::check_integrity() const {
  std::vector<bool> is_free(owners_.size(), false);
  for (const PageId page : free_) {
    if (page < 0 || page >= num_pages())
      return "the free list holds page " + std::to_string(page) + ", which does not exist";
    if (is_free[at(page)]) return "page " + std::to_string(page) + " is in the free list twice";
    is_free[at(page)] = true;
  }
  for (PageId page = 0; page < num_pages(); ++page) {
    if (owners(page) < 0) return "page " + std::to_string(page) + " has a negative owner count";
    if (is_free[at(page)] != (owners(page) == 0))
      return "page " + std::to_string(page) + " has " + std::to_string(owners(page)) +
             " owners and is " + (owners(page) == 0 ? "not " : "") + "in the free list";
  }
  return {};
}

}  // namespace foretoken
