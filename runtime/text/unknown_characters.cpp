#include "runtime/text/unknown_characters.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "runtime/text/folded_text.h"

namespace penstock::runtime {

UnknownCharacters::UnknownCharacters(std::string_view where, std::u32string characters)
    : DataError(fmt::format("the transcript has characters {}: {}", where, listed(characters))),
      characters_(std::move(characters)) {}

std::string describe_characters(const std::map<char32_t, std::int64_t>& transcripts,
                                std::size_t max) {
  std::vector<std::pair<char32_t, std::int64_t>> all(transcripts.begin(), transcripts.end());
  std::ranges::stable_sort(all, std::greater(), &std::pair<char32_t, std::int64_t>::second);
  std::string told;
  for (std::size_t i = 0; i < std::min(max, all.size()); ++i)
    told +=
        fmt::format("{}{} in {}", i == 0 ? "" : ", ", listed({&all[i].first, 1}), all[i].second);
  if (all.size() > max)
    told += fmt::format(
        ", and {}", counted(std::ssize(all) - static_cast<std::int64_t>(max), "other", "others"));
  return told;
}

}  // namespace penstock::runtime
