#pragma once

#include <string>

namespace penstock::tools {

/// One object of nlohmann-json, and the end of its line. Bytes that are not UTF-8, which a path may
/// hold, become U+FFFD.
template <class Json>
std::string json_line(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace penstock::tools
