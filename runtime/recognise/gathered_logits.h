#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/mapped_file.h"
#include "comm/communicator.h"

namespace penstock::runtime {

/// Logits of numbered parts, such as recordings, that ranks compute in any order. One rank gets
/// them in the order of their numbers. They lie in scratch files, so memory holds one part at most.
class GatheredLogits {
 public:
  /// Keeps a part's logits (frames × classes) on the rank that computes them. `part` counts from
  /// the last collect(). FileError if this rank's scratch file cannot be written.
  void keep(std::size_t part, std::span<const float> logits_FC, std::int64_t classes);

  /// Sends the logits of the next `parts` parts to the rank `root`, one part at a time. A part that
  /// no rank has kept gets no frames. All ranks call it, always with one root. FileError on the
  /// root if its scratch file cannot be written.
  void collect(comm::Communicator& world, std::size_t parts, int root);

  /// Returns the numbers in a row; 0 if no rank has kept any. All ranks agree after collect().
  std::int64_t classes() const { return classes_; }
  /// Returns how many numbers each collected part has. On the root.
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  /// Maps all collected parts, one after the other. On the root, after collect().
  [[nodiscard]] MappedFile map() const { return collected_->map(); }

 private:
  /// The place of a part's numbers in this rank's scratch file, in bytes.
  struct Place {
    std::uint64_t begin = 0, size = 0;
  };
  void take(comm::Communicator& world, std::size_t part, std::size_t size, int keeper, int root);

  std::map<std::size_t, Place> kept_;  // by part, since collect()
  std::unique_ptr<ScratchFile> own_;   // the kept parts
  MappedFile own_bytes_;
  std::int64_t classes_ = 0;
  std::vector<std::int64_t> sizes_;
  std::unique_ptr<ScratchFile> collected_;
};

}  // namespace penstock::runtime
