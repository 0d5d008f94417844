#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::runtime {

/// One of several manifests to train on: its usable utterances and its weight.
struct MixturePart {
  std::string manifest;
  std::uint64_t utterances = 0;
  double seconds = 0;  // sum over its utterances
  double weight = 1;
  std::string group = {};  // such as a language; either all parts have one, or none
};

/// The size of a part, to which its share is proportional.
enum class ShareBy { seconds, utterances };

struct MixtureOptions {
  double temperature = 1;        // between the parts of a group, or between all without groups
  double group_temperature = 1;  // between groups
  ShareBy by = ShareBy::seconds;
};

/// Determines how often epochs draw utterances of several manifests, whose ids follow each other. A
/// mixture without parts draws each utterance once.
class Mixture {
 public:
  Mixture() = default;
  /// An epoch draws as many seconds, or utterances, as the parts have together. A part's share of
  /// its group is proportional to weight × size^(1 / temperature), and a group's share to
  /// (Σ weight × size)^(1 / group_temperature). With a single part, each utterance is drawn once.
  /// Throws ConfigError if an epoch would hold less than one utterance of a part, or more than 4e9
  /// in all.
  Mixture(std::vector<MixturePart> parts, const MixtureOptions& options);

  /// A part and how often epochs draw from it.
  struct Part {
    MixturePart is;
    std::uint64_t first = 0;  // id of its first utterance
    std::uint64_t rate = 0;   // draws per epoch, in units of 2^-16
    double share = 1;         // fraction of an epoch's seconds, or utterances

    /// Returns how many draws all earlier epochs take. They cycle through the part's utterances.
    std::uint64_t before(std::int64_t epoch) const;
    /// Returns how often an epoch draws an utterance on average.
    double repeats() const;
    /// Returns how often an epoch draws an utterance at most.
    std::uint64_t max_repeats() const;
  };

  bool empty() const { return parts_.empty(); }
  const std::vector<Part>& parts() const { return parts_; }
  const Part& part_of(std::uint64_t id) const;

  /// Returns how often an epoch draws this utterance at most.
  std::uint64_t max_repeats(std::uint64_t id) const {
    return empty() ? 1 : part_of(id).max_repeats();
  }
  /// Returns how many draws an epoch takes from a corpus of `utterances`, to the nearest whole
  /// number.
  std::uint64_t draws(std::uint64_t utterances) const;

 private:
  std::vector<Part> parts_;
};

}  // namespace penstock::runtime
