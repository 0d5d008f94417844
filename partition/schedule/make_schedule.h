#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/parallel.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// The name of schedules that a search finds (partition/planner/search/). They carry their own
/// lists, of one or several chunks per rank.
inline constexpr std::string_view kFound = "found";

/// Returns true if `name` names a file of lists, *.csv.
[[nodiscard]] bool is_schedule_file(std::string_view name);

/// Returns true if a plan with this schedule stores its lists: kFound, and those of files.
[[nodiscard]] bool has_lists(std::string_view name);

/// The maximum number of chunks per rank of an interleaved schedule.
inline constexpr int kMaxLoops = 64;

/// Returns the names that make_schedule() accepts, except those such as "interleaved-5". These are
/// accepted too, for any number of chunks per rank up to kMaxLoops.
[[nodiscard]] std::vector<std::string_view> schedule_names();

/// Returns schedule_names() and kFound.
[[nodiscard]] std::vector<std::string_view> all_schedule_names();

/// Returns true if make_schedule() accepts the name, or if it is kFound.
[[nodiscard]] bool is_schedule(std::string_view name);

/// Returns the complete action lists of a pipeline of `stages` ranks. Throws ConfigError if `name`
/// is kFound, a file or unknown, or if there is less than one stage or micro-batch.
Schedule make_schedule(std::string_view name, int stages, int micro_batches);

/// Returns the rank of each chunk of such a schedule, which does not depend on the number of
/// micro-batches. For kFound this is the placement of one chunk per rank. Throws ConfigError as
/// make_schedule() does.
[[nodiscard]] std::vector<int> chunk_ranks(std::string_view name, int stages);

/// ScheduleCache is a cache of make_schedule(), keyed by name and sizes. Any thread may call it.
class ScheduleCache {
 public:
  /// Returns the cached schedule, or makes it. Throws as make_schedule() does. The reference stays
  /// valid for the lifetime of the cache.
  const Schedule& of(const std::string& name, int stages, int micro_batches);

 private:
  Cache<std::tuple<std::string, int, int>, Schedule> made_;
};

}  // namespace penstock::partition
