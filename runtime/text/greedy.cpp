#include "runtime/text/greedy.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/counted.h"
#include "base/error.h"
#include "runtime/text/alphabet.h"

namespace penstock::runtime {

std::vector<std::int32_t> greedy_labels(std::span<const float> logits_FC, std::int64_t channels) {
  const auto width = static_cast<std::size_t>(channels);
  if (channels < 1 || logits_FC.size() % width != 0)
    throw ShapeError(fmt::format("{} are not frames of {}", counted(logits_FC.size(), "logit"),
                                 counted(channels, "channel")));
  std::vector<std::int32_t> labels;
  std::int32_t before = kBlank;
  for (std::size_t start = 0; start < logits_FC.size(); start += width) {
    const auto frame = logits_FC.subspan(start, width);
    const auto best = static_cast<std::int32_t>(std::ranges::max_element(frame) - frame.begin());
    if (best != before && best != kBlank) labels.push_back(best);
    before = best;
  }
  return labels;
}

}  // namespace penstock::runtime
