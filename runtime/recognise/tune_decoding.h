#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "comm/communicator.h"
#include "runtime/recognise/evaluate_manifests.h"
#include "runtime/recognise/weight_search.h"

namespace penstock::runtime {

/// The result of a search for weights.
struct Tuning {
  std::vector<TriedWeights> tried;  // in the order in which they were tried, those given first
  std::size_t best = 0;             // place in `tried`
  std::int64_t utterances = 0;
  std::int64_t skipped = 0;  // unusable or failed ones
};

/// Searches for the weights of a language model in CTC's beam search that make the fewest errors on
/// manifests. Each round of the search hears the recordings once, and decodes their logits with all
/// weights of the round. Of `test`, fields count for nothing. `told`, if set, is called on rank 0
/// after each round with what was tried so far. Results are the same on any number of ranks. All
/// ranks call it. ConfigError as of Recogniser and WeightSearch, and if there is no language model;
/// otherwise as evaluate_checkpoint().
[[nodiscard]] Tuning tune_decoding(const Trained& trained, const TestSet& test,
                                   const WeightSearchOptions& options, comm::Communicator& world,
                                   const std::function<void(const WeightSearch&)>& told = {});

}  // namespace penstock::runtime
