#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "comm/communicator.h"

namespace penstock::runtime {

/// Logits of recordings, kept by the rank that computes them until rank 0 writes them.
class LogitsFile {
 public:
  explicit LogitsFile(std::size_t recordings) : kept_(recordings) {}

  /// Copies those of a recording, frames × classes, which are the last product's outputs.
  void keep(std::size_t recording, std::span<const float> logits_FC, std::int64_t classes);

  /// Writes a safetensors file, whole or not at all: a tensor F32[frames, classes] for each
  /// recording, named by its number, "00000" and so on. Rank 0 holds one recording's at a time. All
  /// ranks call it. CheckpointError on rank 0 if the file can't be written.
  void write(comm::Communicator& world, const std::filesystem::path& path) const;

 private:
  std::vector<std::vector<float>> kept_;  // by recording; empty where another rank computes them
  std::int64_t classes_ = 0;              // 0: none are kept
};

}  // namespace penstock::runtime
