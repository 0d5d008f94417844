#include "runtime/trainer/step_loader.h"

#include "runtime/trainer/loader_threads.h"

namespace penstock::runtime {

StepLoader::StepLoader(const Corpus& corpus, const configs::Config& config,
                       const partition::Plan& plan, Session& session)
    : corpus_(corpus),
      session_(session),
      seed_(config.trainer.seed),
      lanes_(lane_share(plan.lanes_of_replicas(), session.grid().here().replica)) {
  const bool reads = session.stage().first();
  const int loaders =
      loader_threads(config.data, {config.trainer.threads, reads}, session.grid().world());
  if (reads)
    feed_ = std::make_unique<FeatureFeed>(corpus, config.features, loaders,
                                          training_augmentation(corpus, config));
}

StepWork StepLoader::work(const StepBatches& batches) const {
  return training_work(batches, corpus_, seed_, lanes_, session_.stage().needs_labels());
}

// The loader needs only the micro-batches of this replica, so the work is made without seed and
// labels.
void StepLoader::announce(const StepBatches& batches) {
  if (!reads()) return;
  const StepWork work = training_work(batches, corpus_, 0, lanes_, false);
  feed_->announce(batches.epoch, batches_of(work, batches.micro_batches));
}

ReadFeatures StepLoader::reader() { return reads() ? feed_->reader() : ReadFeatures{}; }

std::function<std::int64_t()> StepLoader::failed() const {
  if (!reads()) return {};
  return [this] { return feed_->failed(); };
}

std::vector<FailedUtterance> StepLoader::failures() const {
  return reads() ? feed_->failures() : std::vector<FailedUtterance>();
}

}  // namespace penstock::runtime
