#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "comm/communicator.h"
#include "runtime/recognise/gathered_logits.h"

namespace penstock::runtime {

/// Collects the logits of recordings that are recognised in windows. They are in scratch files.
class LogitsFile {
 public:
  /// Keeps the logits (frames × classes) of a recording, on the rank that computes them. They are
  /// the outputs of the last linear layer. `recording` counts from the last collect(). FileError as
  /// from GatheredLogits.
  void keep(std::size_t recording, std::span<const float> logits_FC, std::int64_t classes) {
    gathered_.keep(recording, logits_FC, classes);
  }

  /// Sends the logits of the next `recordings` recordings to rank 0, one at a time. A recording
  /// that no rank has kept gets no frames. All ranks call it. FileError on rank 0 if its scratch
  /// file cannot be written.
  void collect(comm::Communicator& world, std::size_t recordings) {
    gathered_.collect(world, recordings, 0);
  }

  /// True if no rank has kept any logits. All ranks agree on it after collect().
  bool empty() const { return gathered_.classes() == 0; }

  /// Writes all collected logits as a safetensors file, completely or not at all. Each recording is
  /// a tensor F32[frames, classes], named by its number: "00000" and so on. Called on rank 0.
  /// CheckpointError if the file cannot be written.
  void write(const std::filesystem::path& path) const;

 private:
  GatheredLogits gathered_;
};

}  // namespace penstock::runtime
