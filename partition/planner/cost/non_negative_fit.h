#pragma once

#include <vector>

namespace penstock::partition {

/// Measured numbers, each with a row of terms.
struct Observations {
  std::vector<std::vector<double>> terms;  // one row per observation
  std::vector<double> values;              // above 0
  /// Errors are relative to these numbers, above 0. Empty means relative to the values.
  std::vector<double> scales = {};
};

/// Returns one coefficient c ≥ 0 per term that together minimise Σ ((row · c − value) / scale)².
/// This is non-negative least squares (Lawson and Hanson 1974) of relative errors. All sets of
/// terms are tried, which is exact and takes O(2^terms). If rows cannot distinguish some terms, all
/// but the first get 0. Without observations the result is empty. Throws std::invalid_argument for
/// more than 8 terms.
std::vector<double> fit_non_negative(const Observations& observations);

}  // namespace penstock::partition
