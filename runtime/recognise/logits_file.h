#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/mapped_file.h"
#include "comm/communicator.h"

namespace penstock::runtime {

/// Collects the logits of recordings that are recognised in windows. Between windows, the logits
/// are in a scratch file of rank 0.
class LogitsFile {
 public:
  /// Copies the logits (frames × classes) of a recording, on the rank that computes them. They are
  /// the outputs of the last linear layer. `recording` counts from the last collect().
  void keep(std::size_t recording, std::span<const float> logits_FC, std::int64_t classes);

  /// Sends the logits of the next `recordings` recordings to rank 0, one at a time. A recording
  /// that no rank has kept gets no frames. All ranks call it. FileError on rank 0 if its scratch
  /// file cannot be written.
  void collect(comm::Communicator& world, std::size_t recordings);

  /// True if no rank has kept any logits. All ranks agree on it after collect().
  bool empty() const { return classes_ == 0; }

  /// Writes all collected logits as a safetensors file, completely or not at all. Each recording is
  /// a tensor F32[frames, classes], named by its number: "00000" and so on. Called on rank 0.
  /// CheckpointError if the file cannot be written.
  void write(const std::filesystem::path& path) const;

 private:
  void take(comm::Communicator& world, std::size_t recording, std::size_t size, int keeper);

  std::map<std::size_t, std::vector<float>> kept_;  // logits by recording, since collect()
  std::int64_t classes_ = 0;
  std::vector<std::int64_t> counts_;  // number of values per recording; on rank 0
  std::unique_ptr<ScratchFile> collected_;
};

}  // namespace penstock::runtime
