#include "runtime/data/batch/mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <ranges>
#include <string>
#include <utility>

#include "base/error.h"

// A part's draws per epoch are rarely a whole number. Epoch e takes the draws from ⌊e · rate⌋ to
// ⌊(e + 1) · rate⌋ of an endless series that cycles through the part. So each epoch is within one
// draw of its rate, every utterance has its turn, and any epoch can be found without those before
// it. The rates are rounded to fixed point once, so all ranks agree whatever their math library.

namespace penstock::runtime {
namespace {

// Draws per epoch are fixed-point numbers with 16 fractional bits. So the draws before any epoch
// follow from integer arithmetic, and all ranks agree on them.
constexpr int kDrawBits = 16;
constexpr std::uint64_t kOneDraw = std::uint64_t{1} << kDrawBits;
constexpr double kMaxDraws = 4e9;  // bound that keeps the draws' numbers within 32 bits

/// Returns ratio^(1 / temperature), rounded to 24 bits. The last bit of a math library's power
/// differs between machines; the rounded value does not.
double tempered(double ratio, double temperature) {
  if (temperature == 1) return ratio;
  return static_cast<float>(std::pow(ratio, 1 / temperature));
}

double size_of(const MixturePart& part, ShareBy by) {
  return by == ShareBy::seconds ? part.seconds : static_cast<double>(part.utterances);
}

/// Returns the share of each group. Ratios to the largest one keep the power from overflowing at
/// any temperature.
std::map<std::string, double> group_shares(const std::vector<MixturePart>& parts,
                                           const MixtureOptions& options) {
  std::map<std::string, double> shares;
  for (const MixturePart& part : parts)
    shares[part.group] += part.weight * size_of(part, options.by);
  const double largest = std::ranges::max(shares | std::views::values);
  double sum = 0;
  for (double& share : shares | std::views::values)
    sum += share = tempered(share / largest, options.group_temperature);
  for (double& share : shares | std::views::values) share /= sum;
  return shares;
}

/// Returns each part's share.
std::vector<double> part_shares(const std::vector<MixturePart>& parts,
                                const MixtureOptions& options) {
  const std::map<std::string, double> groups = group_shares(parts, options);
  double largest = 0;
  for (const MixturePart& part : parts) largest = std::max(largest, size_of(part, options.by));
  const double heaviest = std::ranges::max(parts, {}, &MixturePart::weight).weight;
  std::vector<double> shares;
  std::map<std::string, double> sums;
  for (const MixturePart& part : parts)
    sums[part.group] +=
        shares.emplace_back(part.weight / heaviest *
                            tempered(size_of(part, options.by) / largest, options.temperature));
  for (std::size_t i = 0; i < parts.size(); ++i)
    shares[i] = shares[i] / sums.at(parts[i].group) * groups.at(parts[i].group);
  return shares;
}

}  // namespace

Mixture::Mixture(std::vector<MixturePart> parts, const MixtureOptions& options) {
  if (parts.size() < 2) return;
  const std::vector<double> shares = part_shares(parts, options);
  double size = 0, draws = 0;
  for (const MixturePart& part : parts) size += size_of(part, options.by);
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto utterances = static_cast<double>(parts[i].utterances);
    const double drawn = shares[i] * size / size_of(parts[i], options.by) * utterances;
    if (!(drawn >= 1))
      throw ConfigError(
          fmt::format("an epoch would hold {:.2g} utterances of {}, and should hold one at least: "
                      "raise its weight in data.train, or leave it out",
                      drawn, parts[i].manifest));
    draws += drawn;
    if (draws > kMaxDraws)
      throw ConfigError(
          fmt::format("an epoch would repeat the utterances of {} {:.3g} times, and hold more than "
                      "4e9 in all: lower its weight in data.train, or data.temperature",
                      parts[i].manifest, drawn / utterances));
    Part& part = parts_.emplace_back();
    part.first = first;
    part.rate = static_cast<std::uint64_t>(std::llround(drawn * static_cast<double>(kOneDraw)));
    part.share = shares[i];
    first += parts[i].utterances;
    part.is = std::move(parts[i]);
  }
}

// The result is ⌊epoch · rate / 2^16⌋. Whole draws and fractions are multiplied apart, so that the
// product does not overflow after many epochs.
std::uint64_t Mixture::Part::before(std::int64_t epoch) const {
  const auto epochs = static_cast<std::uint64_t>(epoch);
  const std::uint64_t whole = rate >> kDrawBits, units = rate & (kOneDraw - 1);
  return whole * epochs + (units * epochs >> kDrawBits);
}

double Mixture::Part::repeats() const {
  return static_cast<double>(rate) / static_cast<double>(kOneDraw * is.utterances);
}

// An epoch takes at most ⌈rate⌉ draws, and they are spread over the part as evenly as possible.
std::uint64_t Mixture::Part::max_repeats() const {
  const std::uint64_t max = (rate + kOneDraw - 1) / kOneDraw;
  return (max + is.utterances - 1) / is.utterances;
}

const Mixture::Part& Mixture::part_of(std::uint64_t id) const {
  return *std::prev(std::ranges::upper_bound(parts_, id, {}, &Part::first));
}

std::uint64_t Mixture::draws(std::uint64_t utterances) const {
  if (empty()) return utterances;
  std::uint64_t units = 0;
  for (const Part& part : parts_) units += part.rate;
  return (units + kOneDraw / 2) / kOneDraw;
}

}  // namespace penstock::runtime
