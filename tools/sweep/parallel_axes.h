#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/reports/training/chart_scale.h"
#include "tools/sweep/sweep_outcome.h"

namespace penstock::tools {

/// A vertical axis of the drawing: of numbers, or of words at equal distances.
struct ParallelAxis {
  std::string section, name;            // "optimizer", "learning_rate"; a metric has no section
  std::vector<std::string> words = {};  // if it is no axis of numbers
  ChartScale scale = {};

  /// Returns the place of a value: 0 below, 1 above.
  double place(const std::string& value) const;
  /// Returns the texts beside the axis, with their places.
  std::vector<Tick> marks() const;
};

/// Returns an axis for each key of a sweep and, if a run has one, one for the metric, which is the
/// last. A list of numbers has an axis of words, its values in ascending order, so that each has a
/// mark. A range has the scale by which it was drawn.
[[nodiscard]] std::vector<ParallelAxis> parallel_axes(const SweepOutcome& outcome);

/// Returns the parallel coordinates (Inselberg, "The plane with parallel coordinates", The Visual
/// Computer 1985) of a sweep's runs as SVG, in HTML that takes its colours from the page's style: a
/// line for each run with a metric, from axis to axis. The best one lies above the others; a failed
/// run is never the best. "" if no run has a metric.
[[nodiscard]] std::string parallel_axes_html(const SweepOutcome& outcome);

}  // namespace penstock::tools
