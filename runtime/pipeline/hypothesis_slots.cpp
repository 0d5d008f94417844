#include "runtime/pipeline/hypothesis_slots.h"

#include <cstddef>
#include <utility>

namespace penstock::runtime {

HypothesisSlots::HypothesisSlots(int beam, std::vector<std::int64_t> before)
    : beam_(beam), before_(std::move(before)) {}

// Utterances move from the last one on, since slot u * N lies after slot u.
std::vector<SlotCopy> HypothesisSlots::copies(std::span<const layers::TextStep> steps,
                                              std::span<const std::int64_t> past) {
  std::vector<SlotCopy> copies;
  if (beam_ == 1) return copies;
  const auto utterances = std::ssize(before_);
  if (used_.empty()) {
    used_.resize(steps.size());
    for (std::int64_t u = utterances; u-- > 0;) {
      if (u > 0) copies.push_back({u, u * beam_, 0, before_[static_cast<std::size_t>(u)]});
      used_[static_cast<std::size_t>(u * beam_)] = true;
    }
  }
  for (std::int64_t slot = 0; slot < std::ssize(steps); ++slot) {
    const layers::TextStep& step = steps[static_cast<std::size_t>(slot)];
    const auto u = static_cast<std::size_t>(slot / beam_);
    const std::int64_t from = std::int64_t(u) * beam_ + step.parent;
    if (!step.goes_on() || from == slot) continue;
    const bool used = used_[static_cast<std::size_t>(slot)];
    if (const std::int64_t first = used ? before_[u] : 0; first < past[u])
      copies.push_back({from, slot, first, past[u]});
    used_[static_cast<std::size_t>(slot)] = true;
  }
  return copies;
}

}  // namespace penstock::runtime
