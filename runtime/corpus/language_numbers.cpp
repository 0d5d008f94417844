#include "runtime/corpus/language_numbers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "layers/models/decoder.h"

namespace penstock::runtime {
std::int32_t language_number(const std::vector<std::string>& languages, std::string_view language) {
  if (language.empty()) return 0;
  const auto found = std::ranges::find_if(languages, [&](const std::string& known) {
    return layers::is_same_language(known, language);
  });
  if (found == languages.end())
    throw DataError(
        fmt::format("its language '{}' has no prompt: decoder.languages = {} names all that have",
                    language, languages));
  return static_cast<std::int32_t>(found - languages.begin()) + 1;
}

}  // namespace penstock::runtime
