#include "runtime/corpus/corpus_work.h"

#include <numeric>

#include "runtime/data/batch/epoch_draws.h"

namespace penstock::runtime {
namespace {

MicroBatchWork work_of(const MicroBatch& batch, const Corpus& corpus, bool with_labels) {
  MicroBatchWork work;
  for (const BatchUtterance& u : batch.utterances) {
    work.lengths.push_back(u.frames);
    work.utterances.push_back(draw_key(u));
    if (!with_labels) continue;
    const std::vector<std::int32_t> labels = corpus.labels(u.id);
    work.label_lengths.push_back(static_cast<std::int32_t>(labels.size()));
    work.labels.insert(work.labels.end(), labels.begin(), labels.end());
  }
  return work;
}

}  // namespace

LaneShare lane_share(const std::vector<int>& lanes_of, int replica) {
  const auto own = lanes_of.begin() + replica;
  return {std::accumulate(lanes_of.begin(), own, 0), *own};
}

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

}  // namespace penstock::runtime
