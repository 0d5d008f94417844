#include "layers/nn/layer_drop.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/philox.h"

namespace penstock::layers {

LayerDrop::LayerDrop(std::string name, double probability)
    : name_(std::move(name)), probability_(probability) {
  if (!(probability >= 0 && probability < 1))
    throw ShapeError(fmt::format(
        "{} drops a share of {:g} of the utterances; it must be at least 0 and less than 1", name_,
        probability));
}

// Factors are computed anew by forward and backward rather than saved. The mean of the unit's
// output stays, as a share p of the utterances counts 0 and the others 1 / (1 - p).
std::vector<double> LayerDrop::factors(const Context& context) const {
  if (!active() || context.mode == Mode::evaluate) return {};
  const RandomKey& key = context.random;
  if (key.utterances.size() != context.lengths.size())
    throw ShapeError(fmt::format("{} samples for {} and was given the frames of {}", name_,
                                 counted(key.utterances.size(), "utterance"),
                                 context.lengths.size()));
  const auto limit = static_cast<std::uint64_t>(probability_ * 0x1p32);
  std::vector<double> factors;
  for (const std::uint64_t utterance : key.utterances) {
    const PhiloxStream random = philox_stream(
        key.seed, {hash_of_name(name_), key.epoch, low_word(utterance), high_word(utterance)});
    factors.push_back(random(0, 0)[0] < limit ? 0 : 1 / (1 - probability_));
  }
  return factors;
}

// No factors mean that nothing is dropped, not that nothing is left.
bool all_dropped(std::span<const double> factors) {
  return !factors.empty() &&
         std::all_of(factors.begin(), factors.end(), [](double factor) { return factor == 0; });
}

}  // namespace penstock::layers
