#pragma once
// What a chat template tells of the family of its model: texts that it holds. Pure function.

#include <span>
#include <string_view>

namespace foretoken {

// name is told where the template has both texts; `also` may be empty.
struct TemplateSign {
  std::string_view text, also, name;
};

// Of the first sign that is there; empty: none is.
inline std::string_view told_by(std::string_view source, std::span<const TemplateSign> signs) {
  const auto has = [&](std::string_view text) {
    return source.find(text) != std::string_view::npos;
  };
  for (const TemplateSign& sign : signs)
    if (has(sign.text) && has(sign.also)) return sign.name;
  return {};
}

}  // namespace foretoken
