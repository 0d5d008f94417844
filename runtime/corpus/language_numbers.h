#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// Returns the number of a language among `languages` (decoder.languages), from 1 on; 0 for "".
/// Small and capital ASCII letters are the same, and so are "-" and "_". Throws DataError, which
/// names the languages, if it is none of them.
[[nodiscard]] std::int32_t language_number(const std::vector<std::string>& languages,
                                           std::string_view language);

}  // namespace penstock::runtime
