#pragma once

#include <vector>

namespace penstock::runtime {

/// Means of the columns of rows of equal length, without the quarter of the rows (rounded down)
/// with the least and that with the largest sums.
std::vector<double> middle_mean(std::vector<std::vector<double>> rows);

}  // namespace penstock::runtime
