#include "runtime/corpus/synthetic_work.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>

namespace penstock::runtime {
namespace {

constexpr std::int64_t kLabelsPerSecond = 12;

}  // namespace

StepWork synthetic_work(const SyntheticOptions& options) {
  std::mt19937_64 random(options.seed);
  StepWork work;
  work.seed = options.seed;
  work.global_micro_batches = options.micro_batches;
  work.scale = 1.0 / (static_cast<double>(options.micro_batches) * options.utterances);
  const double top = std::floor(options.seconds * options.frames_per_second);
  for (int m = 0; m < options.micro_batches; ++m) {
    MicroBatchWork& micro_batch = work.micro_batches.emplace_back();
    micro_batch.place = m;
    for (int u = 0; u < options.utterances; ++u) {
      const double part = options.utterances == 1 ? 0 : u / (options.utterances - 1.0);
      const auto frames = static_cast<std::int64_t>(top / 2 + part * top / 2);
      const auto labels = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(static_cast<double>(frames * kLabelsPerSecond) /
                                       options.frames_per_second));
      micro_batch.lengths.push_back(frames);
      micro_batch.utterances.push_back(m * options.utterances + u);
      micro_batch.label_lengths.push_back(static_cast<std::int32_t>(labels));
      for (std::int64_t k = 0; k < labels; ++k)
        micro_batch.labels.push_back(1 +
                                     static_cast<std::int32_t>(random() % (options.labels - 1)));
    }
  }
  return work;
}

ReadFeatures synthetic_features(std::uint64_t seed) {
  // All copies of the function share features that are made once. So a timed step finds them ready,
  // as a loader provides them.
  const auto made = std::make_shared<std::map<int, std::vector<float>>>();
  return [seed, made](int micro_batch, std::span<float> x_FC, std::span<float> weights) {
    std::vector<float>& noise = (*made)[micro_batch];
    if (noise.size() != x_FC.size()) {
      std::mt19937_64 random(seed * 1000003 + micro_batch);
      std::normal_distribution<float> normal;
      noise.resize(x_FC.size());
      for (float& x : noise) x = normal(random);
    }
    std::copy(noise.begin(), noise.end(), x_FC.begin());
    std::fill(weights.begin(), weights.end(), 1.0f);
  };
}

double audio_seconds(const StepWork& work, double frames_per_second) {
  std::int64_t frames = 0;
  for (const MicroBatchWork& m : work.micro_batches)
    for (std::int64_t length : m.lengths) frames += length;
  return static_cast<double>(frames) / frames_per_second;
}

}  // namespace penstock::runtime
