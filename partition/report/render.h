#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "partition/simulate/simulate.h"

namespace penstock::partition {

/// How a schedule is drawn in characters.
struct Picture {
  int width = 72;                                // columns of the whole step
  int most_ranks = 32;                           // of more, so many are drawn, evenly apart
  std::function<std::string(double)> time = {};  // labels of a time axis below; empty: no axis
  bool colour = false;                           // by ANSI escape sequences
};

/// A line for each rank, as wide as the makespan: each action begins with its letter (F, B input
/// gradient, W weight gradient, G both gradients; small on a rank's second and later chunks) and
/// the micro-batch's number as far as there is room, and is filled up with -, = or ~ for F, B or G,
/// and W. Idle time is blank. Where most actions are narrower than a column, a column has the
/// letter of what takes most of the time of it and its neighbours, # where no kind takes three
/// quarters of what is computed, . where the rank idles for more than a quarter of it, and a blank
/// for more than three quarters.
[[nodiscard]] std::string render(const Schedule& schedule, const Simulation& simulation,
                                 const Picture& picture);

/// The width of a picture whose lines, names of ranks included, have so many columns.
[[nodiscard]] int picture_width(const Simulation& simulation, std::size_t columns);

/// What such columns mean, to go on a legend of letters.
inline constexpr const char* kSummaryLegend =
    "; a letter is what takes most of a column's time, # several, . mostly idle";

/// Whether columns are such summaries.
[[nodiscard]] bool is_summary(const Simulation& simulation, int width);

}  // namespace penstock::partition
