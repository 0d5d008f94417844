#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "configs/config.h"
#include "runtime/data/batching.h"

namespace penstock::runtime {

/// Where an utterance's audio lies and how long the index says it is.
struct AudioSource {
  std::filesystem::path audio;
  AudioLength length;
  std::optional<std::int64_t> first = {};  // sample at which it begins, of a segment
};

/// The audio of utterances by id. Threads call it at the same time.
using AudioSources = std::function<AudioSource(std::uint64_t)>;

struct LoaderOptions {
  int threads = 1;
  std::int64_t queue_bytes = 256 << 20;  // of features made ahead; one micro-batch may exceed it
};

/// An utterance that was left out as silence.
struct FailedUtterance {
  std::uint64_t id = 0;
  std::string why;  // "a.wav: no such file"
};

/// A micro-batch's features.
struct LoadedBatch {
  std::vector<float> x_FC;            // frames × bins, utterances one after the other
  std::vector<std::int64_t> lengths;  // frames of each utterance
  std::vector<float> weights;         // of its loss: 1, or 0 where the audio has failed
};

/// Reads audio and makes features ahead of time, in threads. What comes out depends on the
/// micro-batches alone, not on the threads. The threads step back for those that compute.
///
/// Audio that can no longer be read, or has another length than the index says, leaves zeros (what
/// silence becomes) of the expected shape with weight 0, is logged and counted.
class FeatureLoader {
 public:
  /// ConfigError as FeatureExtractor.
  FeatureLoader(AudioSources sources, const configs::FeatureConfig&, const LoaderOptions&);
  ~FeatureLoader();
  FeatureLoader(const FeatureLoader&) = delete;
  FeatureLoader& operator=(const FeatureLoader&) = delete;

  /// Announces the micro-batch to make after those pushed before; never waits.
  void push(std::int64_t epoch, const MicroBatch&);

  /// The next micro-batch in the order of push; waits for it. Error if nothing was pushed.
  LoadedBatch take();

  /// Utterances that have failed, of all that were taken.
  std::int64_t failed() const;
  /// Those of the epoch of the micro-batch taken last.
  std::vector<FailedUtterance> failures() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::runtime
