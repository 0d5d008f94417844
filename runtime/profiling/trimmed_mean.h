#pragma once

#include <vector>

namespace penstock::runtime {

/// Returns the means of the columns, for rows of equal length. The quarter of the rows with the
/// least sums and the quarter with the largest (rounded down) are left out.
std::vector<double> trimmed_mean(std::vector<std::vector<double>> rows);

}  // namespace penstock::runtime
