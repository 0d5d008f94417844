#include "runtime/corpus/corpus_work.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include "runtime/data/batch/epoch_draws.h"

namespace penstock::runtime {
namespace {

MicroBatchWork work_of(const MicroBatch& batch, const Corpus& corpus, bool with_labels) {
  MicroBatchWork work;
  for (const BatchUtterance& u : batch.utterances) {
    work.lengths.push_back(u.frames);
    work.utterances.push_back(draw_key(u));
    if (corpus.prompt) work.prompts.push_back(corpus.prompt(u.id));
    if (!with_labels) continue;
    const std::vector<std::int32_t> labels = corpus.labels(u.id);
    work.label_lengths.push_back(static_cast<std::int32_t>(labels.size()));
    work.labels.insert(work.labels.end(), labels.begin(), labels.end());
  }
  return work;
}

constexpr std::int64_t kLabelsPerSecond = 12;

}  // namespace

LaneShare lane_share(const std::vector<int>& lanes_of, int replica) {
  const auto own = lanes_of.begin() + replica;
  return {std::accumulate(lanes_of.begin(), own, 0), *own};
}

// The scale counts the utterances of the whole step, so sums over lanes and replicas need no
// division. A micro-batch keeps its place in the step, by which results are put in one order.
StepWork training_work(const StepBatches& step, const Corpus& corpus, std::uint64_t seed,
                       const LaneShare& share, bool with_labels) {
  StepWork work;
  work.seed = seed;
  work.epoch = static_cast<std::uint32_t>(step.epoch);
  work.scale = 1.0 / static_cast<double>(step.utterances);
  work.global_micro_batches = static_cast<int>(step.micro_batches.size());
  for (std::size_t m = 0; m < step.micro_batches.size(); ++m) {
    const int lane = step.lanes[m] - share.first;
    if (lane < 0 || lane >= share.count) continue;
    work.micro_batches.push_back(work_of(step.micro_batches[m], corpus, with_labels));
    work.micro_batches.back().lane = lane;
    work.micro_batches.back().place = static_cast<int>(m);
  }
  return work;
}

// Batches are dealt in turn. They are sorted by length, so each replica gets some of every length.
StepWork evaluation_work(const std::vector<MicroBatch>& batches, const Corpus& corpus, int replica,
                         int replicas, bool with_labels) {
  StepWork work;
  work.global_micro_batches = static_cast<int>(batches.size());
  for (std::size_t m = replica; m < batches.size(); m += replicas) {
    work.micro_batches.push_back(work_of(batches[m], corpus, with_labels));
    work.micro_batches.back().place = static_cast<int>(m);
  }
  return work;
}

std::vector<MicroBatch> batches_of(const StepWork& work, const std::vector<MicroBatch>& all) {
  std::vector<MicroBatch> own;
  for (const MicroBatchWork& m : work.micro_batches) own.push_back(all[m.place]);
  return own;
}

// The lengths of a micro-batch rise evenly from half of the given seconds to all of them. A single
// utterance has half.
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
