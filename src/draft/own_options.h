#pragma once
// OwnOptions: what single algorithms are asked for, each in a plain struct of its own that is found
// by its type, so that DraftOptions need not know which algorithms exist. A value: a copy holds
// copies. A struct that was never edited is as its members say.

#include <any>
#include <map>
#include <typeindex>

namespace foretoken {

class OwnOptions {
 public:
  template <typename T>
  const T& get() const {
    static const T kUsual = {};
    const auto found = values_.find(typeid(T));
    return found == values_.end() ? kUsual : *std::any_cast<T>(&found->second);
  }

  template <typename T>
  T& edit() {
    std::any& value = values_[typeid(T)];
    if (!value.has_value()) value = T{};
    return *std::any_cast<T>(&value);
  }

 private:
  std::map<std::type_index, std::any> values_;
};

}  // namespace foretoken
