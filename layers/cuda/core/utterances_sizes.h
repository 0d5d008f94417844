#pragma once

#include <cstdint>
#include <numeric>
#include <span>

#include "layers/scratch.h"

namespace penstock::layers::cuda {

/// Returns the sum of the lengths.
inline std::int64_t rows_of(std::span<const std::int64_t> lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

/// Memory for the map from rows to utterances, which upload_utterances() fills.
struct UtterancesWorkspace {
  UtterancesWorkspace(Scratch& scratch, std::span<const std::int64_t> lengths)
      : starts(scratch.take<std::int64_t>(static_cast<std::int64_t>(lengths.size()) + 1)),
        of_row(scratch.take<std::int32_t>(rows_of(lengths))) {}
  std::int64_t* starts;
  std::int32_t* of_row;
};

}  // namespace penstock::layers::cuda
