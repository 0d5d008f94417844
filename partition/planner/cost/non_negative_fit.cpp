#include "partition/planner/cost/non_negative_fit.h"

#include <Eigen/Dense>
#include <limits>
#include <stdexcept>

namespace penstock::partition {
namespace {

constexpr std::size_t kMaxTerms = 8;
constexpr double kSmallest = 1e-12;  // lower bound of a scale, to divide by

/// Scaled holds the rows and values divided by the scales, with each column divided by its largest
/// number.
struct Scaled {
  Eigen::MatrixXd rows;
  Eigen::VectorXd values;
  Eigen::VectorXd columns;  // largest number of each column, before the division

  explicit Scaled(const Observations& observed)
      : rows(observed.values.size(), observed.terms.front().size()), values(rows.rows()) {
    const auto& scales = observed.scales.empty() ? observed.values : observed.scales;
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      const double scale = std::max(scales[i], kSmallest);
      values[i] = observed.values[i] / scale;
      for (Eigen::Index k = 0; k < rows.cols(); ++k) rows(i, k) = observed.terms[i][k] / scale;
    }
    // A constant is 1 where squared frames are 10^8. With columns of one size, the rank of a set of
    // columns is that of the terms and not of their units.
    columns = rows.cwiseAbs().colwise().maxCoeff();
    for (Eigen::Index k = 0; k < rows.cols(); ++k)
      if (columns[k] > 0) rows.col(k) /= columns[k];
  }
};

/// Returns the indices of the bits that are set: the columns of a set of terms.
std::vector<Eigen::Index> members(unsigned set, Eigen::Index terms) {
  std::vector<Eigen::Index> list;
  for (Eigen::Index k = 0; k < terms; ++k)
    if ((set >> k & 1U) != 0) list.push_back(k);
  return list;
}

}  // namespace

std::vector<double> fit_non_negative(const Observations& observed) {
  if (observed.values.empty()) return {};
  const std::size_t terms = observed.terms.front().size();
  if (terms > kMaxTerms) throw std::invalid_argument("a fit of more than 8 terms");
  const Scaled scaled(observed);

  std::vector<double> best(terms, 0.0);
  double min = scaled.values.squaredNorm();  // the error without any term
  // The best non-negative fit is the unconstrained least-squares fit of the terms with positive
  // coefficients. So it is among the fits of all sets of terms.
  for (unsigned set = 1; set < 1U << terms; ++set) {
    const auto used = members(set, scaled.rows.cols());
    const Eigen::MatrixXd rows = scaled.rows(Eigen::all, used);
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> factors(rows);
    if (factors.rank() < rows.cols()) continue;  // a smaller set fits as well
    const Eigen::VectorXd solution = factors.solve(scaled.values);
    const double error = (rows * solution - scaled.values).squaredNorm();
    if (solution.minCoeff() < 0 || error >= min) continue;
    min = error;
    best.assign(terms, 0.0);
    for (std::size_t i = 0; i < used.size(); ++i)
      best[used[i]] = solution[static_cast<Eigen::Index>(i)] / scaled.columns[used[i]];
  }
  return best;
}

}  // namespace penstock::partition
