#pragma once
// SamplingSettings: what /set of a chat has set, by the names of /v1/chat/completions. What is not
// set is left to the server. Values are checked for their kind and for bounds that all servers
// share; a server may refuse more. One thread at a time.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "base/error.h"

namespace foretoken {

class SamplingSettings {
 public:
  // "default" takes a setting away. The refusal is a sentence for the user.
  std::optional<Refusal> set(std::string_view name, std::string_view value);
  // "NAME VALUE" or "NAME=VALUE".
  std::optional<Refusal> set(std::string_view assignment);

  void write(boost::json::object& body) const;
  // One line for each name that there is: its value, and what it means.
  std::string described() const;

  static std::vector<std::string_view> names();

 private:
  std::map<std::string, boost::json::value, std::less<>> values_;
};

}  // namespace foretoken
