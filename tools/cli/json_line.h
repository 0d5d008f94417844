#pragma once

#include <string>

namespace penstock::tools {

/// Returns one object of nlohmann-json as a line. Bytes that are not UTF-8, which a path may hold,
/// become U+FFFD.
template <class Json>
std::string json_line(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace penstock::tools
