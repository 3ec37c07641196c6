#pragma once
// Half characters in the text of a JSON body. Clients that cut a text in the middle of an emoji send
// one of the two UTF-16 escapes of it ("\ud83d"), which is no text in UTF-8. Pure function.

#include <string>
#include <string_view>

namespace foretoken {

// `json` with "\ufffd" for every escape of a surrogate that has no other half beside it.
std::string without_lone_surrogates(std::string_view json);

}  // namespace foretoken
