#pragma once

#include <functional>
#include <string>
#include <vector>

namespace penstock::runtime {

// Messages of the ranks to rank 0 about a checkpoint that they open together.

/// Calls `open` and returns a message about the CheckpointError that it throws. The message is
/// empty if it throws none.
[[nodiscard]] std::string rank_message(const std::function<void()>& open);

/// The conclusion from the messages of all ranks.
struct RankVerdict {
  std::string fault = {};   // first rank's error, with its number; "" if none
  bool unreadable = false;  // the checkpoint could not be read, but may be intact
};

/// Returns the conclusion, on rank 0. A file that rank 0 has and another rank lacks is not a fault
/// of the checkpoint: the ranks see different folders.
[[nodiscard]] RankVerdict verdict(const std::vector<std::string>& words);

}  // namespace penstock::runtime
