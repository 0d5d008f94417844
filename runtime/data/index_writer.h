#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/data/index_draft.h"
#include "runtime/data/lengths.h"

namespace penstock::runtime {

/// What is known of a draft's recordings, by their numbers.
struct DraftRecordings {
  struct Recording {
    FileStamp stamp;
    PackedLength length;  // not known: it can't be used
  };
  std::vector<Recording> all;
  std::unordered_map<std::size_t, std::string> faults = {};  // why it can't be used
};

/// Gives an index's bytes to `write`, in their order. A line can't be used if its recording can't,
/// if samples_of() refuses it, or if the duration of a whole recording is off by more than
/// kDurationTolerance.
void write_index(const IndexDraft& draft, const DraftRecordings& recordings,
                 const std::function<void(std::string_view)>& write);

}  // namespace penstock::runtime
