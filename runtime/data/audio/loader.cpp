#include "runtime/data/audio/loader.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "base/error.h"
#include "runtime/data/audio/features.h"
#include "runtime/data/remote/read_ahead.h"

namespace penstock::runtime {
namespace {

/// A micro-batch whose features are being computed.
struct Job {
  std::int64_t epoch = 0;
  MicroBatch batch;
  LoadedBatch loaded;
  std::vector<std::string> faults;  // per utterance; "" if it has none
  std::size_t begun = 0, done = 0;  // numbers of utterances
  std::exception_ptr failure;       // an error other than unusable audio

  std::size_t size() const { return batch.utterances.size(); }
};

}  // namespace

// Threads take utterances of the first job that has some left, so micro-batches complete in about
// the order of push(). A job begins only if its features fit into options.queue_bytes, or if it is
// the first. The mutex guards the jobs; features are computed without it.
struct FeatureLoader::State {
  AudioSources sources;
  configs::FeatureConfig features;
  LoaderOptions options;
  int bins = 0;

  mutable std::mutex mutex;
  std::condition_variable work, ready;
  std::deque<std::unique_ptr<Job>> jobs;  // pushed but not taken
  std::int64_t bytes_ahead = 0;           // size of the features in `jobs`
  bool stopping = false;

  std::int64_t failed = 0;  // over all epochs
  std::int64_t epoch = -1;  // the epoch of `failures`
  std::vector<FailedUtterance> failures;
  std::optional<ReadAhead> read_ahead;  // set if there may be audio on servers
  std::vector<std::jthread> threads;  // declared last: they join before what they use is destroyed

  std::int64_t bytes_of(const Job& job) const {
    return job.batch.frames() * bins * static_cast<std::int64_t>(sizeof(float));
  }

  /// Returns the first job that has utterances left to begin, or null if the bound on bytes forbids
  /// to begin it. The caller holds the mutex.
  Job* next_job() {
    for (const auto& job : jobs) {
      if (job->begun == job->size()) continue;
      if (job->begun > 0) return job.get();
      const bool fits = bytes_ahead + bytes_of(*job) <= options.queue_bytes;
      return fits || job == jobs.front() ? job.get() : nullptr;
    }
    return nullptr;
  }

  /// Allocates a job's features, zeroed. The caller holds the mutex.
  void begin(Job& job) {
    bytes_ahead += bytes_of(job);
    job.loaded.x_FC.resize(static_cast<std::size_t>(job.batch.frames() * bins));
    job.loaded.weights.assign(job.size(), 1.0f);
    job.faults.resize(job.size());
    for (const BatchUtterance& utterance : job.batch.utterances)
      job.loaded.lengths.push_back(utterance.frames);
  }

  /// Computes the features of utterance u of the job. It touches no data of other threads.
  void make(UtteranceMaker& maker, Job& job, std::size_t u) {
    std::int64_t first = 0;
    for (std::size_t before = 0; before < u; ++before) first += job.loaded.lengths[before];
    const BatchUtterance& utterance = job.batch.utterances[u];
    const std::span x_FC(job.loaded.x_FC.data() + first * bins,
                         static_cast<std::size_t>(utterance.frames * bins));
    try {
      const AudioSource source = sources(utterance.id);
      const LocalFile local = read_ahead ? read_ahead->take(source.audio) : LocalFile{source.audio};
      maker.make(source, local.path, job.epoch, utterance, x_FC);
    } catch (const DataError& error) {
      std::ranges::fill(x_FC, 0.0f);
      job.loaded.weights[u] = 0;
      job.faults[u] =
          options.files ? options.files->with_names(error.what()) : std::string(error.what());
    }
  }

  void run() {
    // A lower priority: on a machine whose cores all run ranks, features are made while a rank
    // waits. No lower still, so that other programs do not starve these threads.
    (void)!nice(10);  // applies to this thread alone on Linux
    UtteranceMaker maker(features, options.augmentation);
    std::unique_lock lock(mutex);
    while (true) {
      Job* job = nullptr;
      work.wait(lock, [&] { return stopping || (job = next_job()) != nullptr; });
      if (stopping) return;
      if (job->begun == 0) begin(*job);
      const std::size_t u = job->begun++;
      work.notify_one();
      lock.unlock();
      std::exception_ptr failure;
      try {
        make(maker, *job, u);
      } catch (...) {
        failure = std::current_exception();
      }
      std::this_thread::yield();  // to a rank whose message has arrived; Linux would let it wait
      lock.lock();
      if (failure) job->failure = failure;
      if (++job->done == job->size()) ready.notify_all();
    }
  }

  /// Counts the failures of a job that was taken. The caller holds the mutex.
  void count_faults(const Job& job) {
    if (job.epoch != epoch) failures.clear();
    epoch = job.epoch;
    for (std::size_t u = 0; u < job.faults.size(); ++u) {
      if (job.faults[u].empty()) continue;
      failed += 1;
      failures.push_back({job.batch.utterances[u].id, job.faults[u]});
      spdlog::warn("left out as silence: {}", job.faults[u]);
    }
  }
};

FeatureLoader::FeatureLoader(AudioSources sources, const configs::FeatureConfig& features,
                             const LoaderOptions& options)
    : state_(std::make_unique<State>()) {
  state_->sources = std::move(sources);
  state_->features = features;
  state_->options = options;
  state_->bins = feature_bins(features);
  frame_geometry(features);
  if (options.files) state_->read_ahead.emplace(options.files, ReadAheadOptions());
  for (int i = 0; i < std::max(options.threads, 1); ++i)
    state_->threads.emplace_back([state = state_.get()] { state->run(); });
}

FeatureLoader::~FeatureLoader() {
  const std::lock_guard lock(state_->mutex);
  state_->stopping = true;
  state_->work.notify_all();
}

// A job has no memory for features until a thread begins it, so any number may be announced.
void FeatureLoader::push(std::int64_t epoch, const MicroBatch& batch) {
  auto job = std::make_unique<Job>();
  job->epoch = epoch;
  job->batch = batch;
  if (state_->read_ahead)
    for (const BatchUtterance& utterance : batch.utterances)
      state_->read_ahead->push(state_->sources(utterance.id).audio);
  const std::lock_guard lock(state_->mutex);
  state_->jobs.push_back(std::move(job));
  state_->work.notify_all();
}

// An error other than unusable audio is thrown here, in the thread that trains.
LoadedBatch FeatureLoader::take() {
  std::unique_lock lock(state_->mutex);
  if (state_->jobs.empty())
    throw Error("the features of a micro-batch are taken, but nobody announced it");
  state_->ready.wait(lock,
                     [&] { return state_->jobs.front()->done == state_->jobs.front()->size(); });
  const std::unique_ptr<Job> job = std::move(state_->jobs.front());
  state_->jobs.pop_front();
  state_->bytes_ahead -= state_->bytes_of(*job);
  state_->work.notify_all();
  if (job->failure) std::rethrow_exception(job->failure);
  state_->count_faults(*job);
  return std::move(job->loaded);
}

std::int64_t FeatureLoader::failed() const {
  const std::lock_guard lock(state_->mutex);
  return state_->failed;
}

std::vector<FailedUtterance> FeatureLoader::failures() const {
  const std::lock_guard lock(state_->mutex);
  return state_->failures;
}

}  // namespace penstock::runtime
