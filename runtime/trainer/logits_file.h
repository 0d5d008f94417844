#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/scratch_file.h"
#include "comm/communicator.h"

namespace penstock::runtime {

/// Logits of recordings that are recognised some at a time. Between two of these times they lie in
/// a scratch file of rank 0.
class LogitsFile {
 public:
  /// Copies those of a recording, counted from the last collect() on: frames × classes, which are
  /// the last product's outputs. On the rank that computes them.
  void keep(std::size_t recording, std::span<const float> logits_FC, std::int64_t classes);

  /// Takes to rank 0 what ranks keep of the next so many recordings, one at a time. Of one that
  /// nobody keeps there are no frames. All ranks call it. FileError on rank 0 if its scratch file
  /// can't be written.
  void collect(comm::Communicator& world, std::size_t recordings);

  /// Whether no rank has ever kept any; known to all behind collect().
  bool empty() const { return classes_ == 0; }

  /// Writes all that was collected as a safetensors file, whole or not at all: a tensor F32[frames,
  /// classes] for each recording, named by its number, "00000" and so on. On rank 0.
  /// CheckpointError if the file can't be written.
  void write(const std::filesystem::path& path) const;

 private:
  void take(comm::Communicator& world, std::size_t recording, std::size_t size, int keeper);

  std::map<std::size_t, std::vector<float>> kept_;  // by recording, since collect()
  std::int64_t classes_ = 0;
  std::vector<std::int64_t> counts_;  // numbers of each recording; on rank 0
  std::unique_ptr<ScratchFile> collected_;
};

}  // namespace penstock::runtime
