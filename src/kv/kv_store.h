#pragma once
// KvStore: the key and value tensors of ONE model, indexed by page id. Target and draft models each
// have one over the same page ids. Owns nothing but views of backend memory. Engine thread only.

#include <span>
#include <vector>

#include "backend/ops/load_ops.h"
#include "base/index.h"

namespace foretoken {

class KvStore {
 public:
  KvStore(LoadOps& ops, const KvShape& shape, int num_pages);

  const KvLayer& layer(int i) const { return layers_[at(i)]; }
  std::span<const KvLayer> layers() const { return layers_; }

 private:
  std::vector<KvLayer> layers_;
};

}  // namespace foretoken
