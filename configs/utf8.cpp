#include "configs/utf8.h"

#include <nlohmann/json.hpp>

namespace penstock {

bool is_utf8(std::string_view text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

}  // namespace penstock
