#pragma once

#include <string>
#include <string_view>

#include "configs/utf8.h"

namespace penstock {

/// The text's code points. DataError with the place of the first byte that is not UTF-8, if any.
std::u32string from_utf8(std::string_view text);

}  // namespace penstock
