#include "server/request/session_params.h"

namespace foretoken {

std::optional<SessionParams> read_session_params(Fields& fields) {
  const auto* object = fields.object("session_params");
  if (object == nullptr) return std::nullopt;
  Fields inner(*object, fields.path() + ".session_params", fields.fault());
  SessionParams params{.id = inner.string("id").value_or(""),
                       .rid = inner.string("rid").value_or(""),
                       .offset = inner.integer("offset").value_or(0),
                       .replaces = inner.boolean("replace").value_or(false),
                       .drops_output = inner.boolean("drop_previous_output").value_or(false)};
  if (params.id.empty()) return std::nullopt;
  return params;
}

}  // namespace foretoken
