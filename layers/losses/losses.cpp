#include "layers/losses/losses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "layers/losses/ctc.h"

namespace penstock::layers {

// The first is the one with which ModelEnds starts.
std::vector<Loss> losses() { return {ctc_loss()}; }

const Loss& find_loss(std::span<const Loss> losses, std::string_view name) {
  const auto found = std::ranges::find(losses, name, &Loss::name);
  if (found != losses.end()) return *found;
  std::vector<std::string_view> names;
  for (const Loss& loss : losses) names.push_back(loss.name);
  throw ConfigError(
      fmt::format("no loss is named {}: it is one of {}", name, fmt::join(names, ", ")));
}

}  // namespace penstock::layers
