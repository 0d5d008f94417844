#pragma once

#include <cstdint>
#include <string>

#include "comm/communicator.h"
#include "configs/config.h"

namespace penstock {

// What every rank of a job must have found alike before the ranks compute together: otherwise they
// would wait for messages that nobody sends. All ranks call these.

/// ConfigError on rank 0 that names the first key of which a rank has another value than rank 0,
/// with both values. Keys that describe a rank's own machine (data.loaders, trainer.device,
/// trainer.threads) may differ.
void agree_on_recipe(Communicator& world, const Config& config);

/// What a rank read of a manifest.
struct CorpusMark {
  std::string key;       // "data.train"
  std::string manifest;  // its value
  std::uint64_t hash = 0;
};

/// DataError on rank 0 if another rank read other utterances, texts or lengths.
void agree_on_corpus(Communicator& world, const CorpusMark& own);

}  // namespace penstock
