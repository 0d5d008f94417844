#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::tools {

/// A value of a greater size counts as not finite, so that no sum or difference overflows.
inline constexpr double kMostShown = 1e300;

/// A point of a curve: a step, and its value, which may be no finite number.
struct CurvePoint {
  std::int64_t step = 0;
  double value = 0;
  bool operator==(const CurvePoint&) const = default;
};

/// The points of a curve in one of a chart's columns of pixels, summed up.
struct CurveColumn {
  std::int64_t first = 0, last = 0;         // steps of its first and last point
  std::int64_t finite = 0, not_finite = 0;  // points
  double least = 0, mean = 0, most = 0;     // of the finite ones; 0 if there are none
  double step() const { return (static_cast<double>(first) + static_cast<double>(last)) / 2; }
};

/// The steps that all curves of a chart span, and the greatest number of columns.
struct ColumnGrid {
  std::int64_t first = 0, last = 0;
  int columns = 500;
};

/// Returns the columns of a curve that have points. If the grid's steps are not more than its
/// columns, each point is a column. Otherwise a column holds the points of equally many steps. So a
/// curve of any length has at most `columns` of them, and none hides a peak.
///
/// Steps ascend and lie in the grid. Takes O(points).
[[nodiscard]] std::vector<CurveColumn> curve_columns(std::span<const CurvePoint> curve,
                                                     const ColumnGrid& grid);

}  // namespace penstock::tools
