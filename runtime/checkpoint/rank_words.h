#pragma once

#include <functional>
#include <string>
#include <vector>

namespace penstock::runtime {

// What the ranks of a job say to rank 0 of a checkpoint that they open together.

/// A rank's word, as a message: empty where `open` raises no CheckpointError.
[[nodiscard]] std::string rank_word(const std::function<void()>& open);

/// What the words of all ranks come to.
struct RankVerdict {
  std::string fault = {};   // of the first rank that has one, with its number; "": none
  bool unreadable = false;  // it says nothing of the checkpoint, which may be whole
};

/// Rank 0's verdict. A file that another rank lacks, but not this one, is no fault of the
/// checkpoint: all ranks must see its folder.
[[nodiscard]] RankVerdict verdict(const std::vector<std::string>& words);

}  // namespace penstock::runtime
