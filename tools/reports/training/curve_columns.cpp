#include "tools/reports/training/curve_columns.h"

#include <algorithm>
#include <cmath>

namespace penstock::tools {
namespace {

/// Returns the column of a step, whose steps are as many as those of others, up to one.
std::int64_t column_index(std::int64_t step, const ColumnGrid& grid) {
  const std::int64_t steps = grid.last - grid.first + 1;
  if (steps <= grid.columns) return step - grid.first;
  const double share = static_cast<double>(step - grid.first) / static_cast<double>(steps);
  return static_cast<std::int64_t>(share * grid.columns);
}

void add(CurveColumn& column, const CurvePoint& point) {
  column.last = point.step;
  if (std::isnan(point.value) || std::abs(point.value) > kMostShown) {
    ++column.not_finite;
    return;
  }
  column.least = column.finite == 0 ? point.value : std::min(column.least, point.value);
  column.most = column.finite == 0 ? point.value : std::max(column.most, point.value);
  ++column.finite;
  column.mean += (point.value - column.mean) / static_cast<double>(column.finite);
}

}  // namespace

std::vector<CurveColumn> curve_columns(std::span<const CurvePoint> curve, const ColumnGrid& grid) {
  std::vector<CurveColumn> columns;
  std::int64_t current = -1;
  for (const CurvePoint& point : curve) {
    const std::int64_t column = column_index(point.step, grid);
    if (column != current) columns.push_back({.first = point.step, .last = point.step});
    current = column;
    add(columns.back(), point);
  }
  return columns;
}

}  // namespace penstock::tools
