#include "runtime/data/manifest/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace penstock::runtime {

void Faults::add(std::string where, std::string what) {
  faults_.push_back({std::move(where), std::move(what)});
}

std::string Faults::listed() const {
  std::string lines;
  const std::size_t shown = std::min(faults_.size(), kListed);
  for (std::size_t i = 0; i < shown; ++i)
    lines += fmt::format("\n  {}: {}", faults_[i].where, faults_[i].what);
  if (faults_.size() > shown) lines += fmt::format("\n  and {} more", faults_.size() - shown);
  return lines;
}

// The message lists the first kListed faults, so that a run names several mistakes at once and
// still fits a screen.
void Faults::require_none(const std::string& headline, const std::string& advice) const {
  if (empty()) return;
  throw DataError(fmt::format("{}:{}{}{}", headline, listed(), advice.empty() ? "" : "\n", advice));
}

}  // namespace penstock::runtime
