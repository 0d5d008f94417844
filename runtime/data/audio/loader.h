#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "configs/config.h"
#include "runtime/data/audio/audio_source.h"
#include "runtime/data/audio/utterance_maker.h"
#include "runtime/data/batch/batching.h"

namespace penstock::runtime {

class RemoteFiles;

struct LoaderOptions {
  int threads = 1;
  std::int64_t queue_bytes = 256 << 20;  // bound on queued features; one micro-batch may exceed it
  std::shared_ptr<RemoteFiles> files = {};  // opens audio that lies on servers, ahead of time
  std::optional<Augmentation> augmentation = {};
};

/// An utterance whose audio failed and was replaced by silence.
struct FailedUtterance {
  std::uint64_t id = 0;
  std::string why;  // "a.wav: no such file"
};

/// The features of a micro-batch.
struct LoadedBatch {
  std::vector<float> x_FC;            // frames × bins, one utterance after another
  std::vector<std::int64_t> lengths;  // frames of each utterance
  std::vector<float> weights;  // weights of the utterances' losses: 1, or 0 if the audio failed
};

/// Reads audio and computes features ahead of time, in threads of low priority. The results depend
/// on the micro-batches alone, not on the threads.
///
/// If audio can no longer be read, or its length differs from the index, the features are zeros
/// (those of silence) of the expected shape with weight 0. The failure is logged and counted. If a
/// server fails, or has changed a recording, take() throws StoreError.
class FeatureLoader {
 public:
  /// Throws ConfigError like FeatureExtractor.
  FeatureLoader(AudioSources sources, const configs::FeatureConfig&, const LoaderOptions&);
  ~FeatureLoader();
  FeatureLoader(const FeatureLoader&) = delete;
  FeatureLoader& operator=(const FeatureLoader&) = delete;

  /// Queues a micro-batch after those pushed before. Never blocks.
  void push(std::int64_t epoch, const MicroBatch&);

  /// Returns the next micro-batch in the order of push(), and blocks until it is ready. Throws
  /// Error if nothing was pushed.
  LoadedBatch take();

  /// Returns how many utterances have failed in all micro-batches taken so far.
  std::int64_t failed() const;
  /// Returns the failures in the epoch of the micro-batch that was taken last.
  std::vector<FailedUtterance> failures() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::runtime
