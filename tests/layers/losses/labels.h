#pragma once

#include <cmath>
#include <vector>

#include "layers/context.h"
#include "tests/support/layers/golden.h"

namespace penstock::layers {

/// Labels and the memory that Targets refers to.
struct Labels {
  Labels(const std::vector<std::vector<std::int32_t>>& utterances, double scale)
      : weights(utterances.size(), 1.0f), losses(utterances.size(), NAN) {
    for (const auto& labels : utterances) {
      flat.insert(flat.end(), labels.begin(), labels.end());
      lengths.push_back(static_cast<std::int32_t>(labels.size()));
    }
    targets = {flat, lengths, weights, scale, losses};
  }
  Labels(const Labels&) = delete;
  Labels& operator=(const Labels&) = delete;

  std::vector<std::int64_t> counts() const { return {lengths.begin(), lengths.end()}; }

  std::vector<std::int32_t> flat, lengths;
  std::vector<float> weights;
  std::vector<double> losses;
  Targets targets;
};

/// Returns the texts of a golden file.
inline std::vector<std::vector<std::int32_t>> labels_of(const test::Golden& golden) {
  std::vector<std::vector<std::int32_t>> labels;
  const std::vector<std::int64_t> flat = golden.integers("labels");
  auto next = flat.begin();
  for (const std::int64_t count : golden.integers("label_counts")) {
    labels.emplace_back(next, next + count);
    next += count;
  }
  return labels;
}

}  // namespace penstock::layers
