#pragma once

#include <vector>

namespace penstock::partition {

/// Numbers that were measured at a row of terms each.
struct Observations {
  std::vector<std::vector<double>> terms;  // a row for each observation
  std::vector<double> values;              // above 0
  std::vector<double> scales = {};  // above 0, what errors are relative to; empty: the values
};

/// Coefficients c ≥ 0, one a term, that make Σ ((row · c − value) / scale)² least: non-negative
/// least squares (Lawson and Hanson 1974) of relative errors. Exact: the best fit is the
/// unconstrained one on the terms that it uses, and all sets of terms are tried, so that it takes
/// O(2^terms); terms that rows can't tell apart get a coefficient of 0 but for the first. No
/// observations: zeros. std::invalid_argument for more than 8 terms.
std::vector<double> fit_non_negative(const Observations& observations);

}  // namespace penstock::partition
