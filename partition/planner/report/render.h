#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "partition/planner/simulate/simulate.h"

namespace penstock::partition {

/// A Picture says how a schedule is drawn in characters.
struct Picture {
  int width = 72;                                // columns of the whole step
  int max_ranks = 32;                            // maximum number of ranks to draw, evenly spaced
  std::function<std::string(double)> time = {};  // label of a time; empty: no time axis
  bool colour = false;                           // with ANSI escape sequences
};

/// Draws a line for each rank, as wide as the makespan. An action begins with its letter: F, B
/// (input gradient), W (weight gradient) or G (both gradients), in lower case on a rank's second
/// and later chunks. The micro-batch's number follows if it fits. The rest of the bar is "-" for F,
/// "=" for B and G, and "~" for W. Idle time is blank.
///
/// If most actions are narrower than a column, columns are summaries, over the column and its
/// neighbours. The letter is the kind that takes most of the time, or # if no kind takes three
/// quarters of the computing time. A column is . if the rank idles for more than a quarter of it,
/// and blank if for more than three quarters.
[[nodiscard]] std::string render(const Schedule& schedule, const Simulation& simulation,
                                 const Picture& picture);

/// Returns the width of a picture whose lines have `columns` columns, including the names of ranks.
[[nodiscard]] int picture_width(const Simulation& simulation, std::size_t columns);

/// Explains summary columns. It is appended to a legend of letters.
inline constexpr const char* kSummaryLegend =
    "; a letter is what takes most of a column's time, # several, . mostly idle";

/// Returns true if columns are summaries.
[[nodiscard]] bool is_summary(const Simulation& simulation, int width);

}  // namespace penstock::partition
