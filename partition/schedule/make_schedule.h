#pragma once

#include <string_view>
#include <vector>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// The name of schedules that a search finds (partition/search/): they have lists of their own, of
/// one chunk a rank or several.
inline constexpr std::string_view kFound = "found";

/// Whether `name` is that of a file of lists, *.csv.
[[nodiscard]] bool is_schedule_file(std::string_view name);

/// Whether a plan of such a schedule holds its lists: kFound, and those of files.
[[nodiscard]] bool has_lists(std::string_view name);

/// The most chunks a rank of an interleaved schedule.
inline constexpr int kMostLoops = 64;

/// Those that make_schedule makes; besides it makes "interleaved-5" and so on, for so many chunks a
/// rank, up to kMostLoops.
[[nodiscard]] std::vector<std::string_view> schedule_names();

/// Those and kFound.
[[nodiscard]] std::vector<std::string_view> all_schedule_names();

/// Whether a schedule has that name: one that make_schedule makes, or kFound.
[[nodiscard]] bool is_schedule(std::string_view name);

/// The complete action lists of a pipeline of `stages` ranks; `name` is one of those above.
/// ConfigError for another, or for less than one stage or micro-batch.
Schedule make_schedule(std::string_view name, int stages, int micro_batches);

/// Which rank of the pipeline holds each chunk of such a schedule, however many micro-batches it
/// has; of kFound with one chunk a rank as well. ConfigError as above.
[[nodiscard]] std::vector<int> chunk_ranks(std::string_view name, int stages);

}  // namespace penstock::partition
