#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::runtime {

/// One of several manifests to train on: what of it takes part.
struct MixturePart {
  std::string manifest;
  std::uint64_t utterances = 0;
  double seconds = 0;  // of all of them
  double weight = 1;
};

/// How often epochs draw utterances of several manifests, whose ids follow each other. Without
/// parts, each utterance is drawn once.
class Mixture {
 public:
  Mixture() = default;
  /// An epoch draws as many seconds as the parts have together. A part's share of them is in
  /// proportion to weight × seconds^(1 / temperature). Of one part each utterance is drawn once.
  /// ConfigError if an epoch would hold less than one utterance of a part, or more than 4e9 in all.
  Mixture(std::vector<MixturePart> parts, double temperature);

  /// A part as epochs draw of it.
  struct Part {
    MixturePart is;
    std::uint64_t first = 0;  // id
    std::uint64_t rate = 0;   // draws an epoch, in units of 2^-16
    double share = 1;         // of an epoch's seconds

    /// How many draws all epochs before this one take: they go round the part's utterances.
    std::uint64_t before(std::int64_t epoch) const;
    /// How often an epoch draws an utterance, on average.
    double repeats() const;
    /// And at most.
    std::uint64_t most_repeats() const;
  };

  bool empty() const { return parts_.empty(); }
  const std::vector<Part>& parts() const { return parts_; }
  const Part& part_of(std::uint64_t id) const;

  /// How often an epoch draws one utterance at most.
  std::uint64_t most_repeats(std::uint64_t id) const {
    return empty() ? 1 : part_of(id).most_repeats();
  }
  /// How many utterances an epoch draws of so many, to the nearest whole number.
  std::uint64_t draws(std::uint64_t utterances) const;

 private:
  std::vector<Part> parts_;
};

}  // namespace penstock::runtime
