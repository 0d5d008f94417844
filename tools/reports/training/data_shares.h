#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/checkpoint/training_state.h"

namespace penstock::tools {

/// A manifest of data.train, and its part in an epoch.
struct DataShare {
  std::string manifest = {}, group = {};  // group "": none
  std::uint64_t utterances = 0;
  double seconds = 0;
  double share = 1;    // fraction of an epoch, in the unit of data.share_by
  double repeats = 1;  // how often an epoch draws an utterance, on average
};

/// Loads the training corpus of a recipe that a checkpoint states, as `penstock plan` does, and
/// returns its manifests. It reads their index from the cache, or makes it, which takes a pass over
/// the recordings. Throws DataError and ConfigError as load_corpus() does.
[[nodiscard]] std::vector<DataShare> data_shares(const runtime::TrainingState& state,
                                                 const std::string& run);

/// Returns the shares as a table in HTML.
[[nodiscard]] std::string shares_html(const std::vector<DataShare>& shares);

}  // namespace penstock::tools
