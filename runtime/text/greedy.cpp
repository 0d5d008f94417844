#include "runtime/text/greedy.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/counted.h"
#include "base/error.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

std::vector<std::int32_t> greedy_labels(std::span<const float> logits_FC, std::int64_t channels,
                                        std::int64_t labels) {
  const auto width = static_cast<std::size_t>(channels);
  if (channels < 1 || logits_FC.size() % width != 0)
    throw ShapeError(fmt::format("{} are not frames of {}", counted(logits_FC.size(), "logit"),
                                 counted(channels, "channel")));
  if (labels < 1 || labels > channels)
    throw ShapeError(fmt::format("{} can't be told from {}", counted(labels, "label"),
                                 counted(channels, "channel")));
  std::vector<std::int32_t> decoded;
  std::int32_t before = kBlank;
  for (std::size_t start = 0; start < logits_FC.size(); start += width) {
    const auto frame = logits_FC.subspan(start, static_cast<std::size_t>(labels));
    const auto best = static_cast<std::int32_t>(std::ranges::max_element(frame) - frame.begin());
    if (best != before && best != kBlank) decoded.push_back(best);
    before = best;
  }
  return decoded;
}

}  // namespace penstock::runtime
