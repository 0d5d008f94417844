#pragma once

#include <string_view>

namespace penstock {

/// Whether `text` can stand in JSON and TOML, where checkpoints and plans keep it.
bool is_utf8(std::string_view text);

}  // namespace penstock
