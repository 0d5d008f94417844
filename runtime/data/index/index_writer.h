#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/data/index/index_draft.h"
#include "runtime/data/index/lengths.h"

namespace penstock::runtime {

/// Measurements of a draft's recordings, by number.
struct DraftRecordings {
  struct Recording {
    FileStamp stamp;
    PackedLength length;  // unknown: the recording can't be used
  };
  std::vector<Recording> all;
  std::unordered_map<std::size_t, std::string> faults = {};  // reason why a recording can't be used
};

/// Passes an index's bytes to `write`, in order. A line is rejected if its recording can't be used
/// or if samples_of() refuses it. It is also rejected if the stated duration of a whole recording
/// is off by more than kDurationTolerance.
void write_index(const IndexDraft& draft, const DraftRecordings& recordings,
                 const std::function<void(std::string_view)>& write);

}  // namespace penstock::runtime
