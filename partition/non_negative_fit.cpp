#include "partition/non_negative_fit.h"

#include <Eigen/Dense>
#include <limits>
#include <stdexcept>

namespace penstock {
namespace {

constexpr std::size_t kMostTerms = 8;
constexpr double kSmallest = 1e-12;  // of a value, to divide by

/// Rows and values divided by the values, columns by their largest number.
struct Scaled {
  Eigen::MatrixXd rows;
  Eigen::VectorXd columns;  // largest numbers

  explicit Scaled(const Observations& observed)
      : rows(observed.values.size(), observed.terms.front().size()) {
    for (Eigen::Index i = 0; i < rows.rows(); ++i)
      for (Eigen::Index k = 0; k < rows.cols(); ++k)
        rows(i, k) = observed.terms[i][k] / std::max(observed.values[i], kSmallest);
    columns = rows.cwiseAbs().colwise().maxCoeff();
    for (Eigen::Index k = 0; k < rows.cols(); ++k)
      if (columns[k] > 0) rows.col(k) /= columns[k];
  }
};

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
  if (terms > kMostTerms) throw std::invalid_argument("a fit of more than 8 terms");
  const Scaled scaled(observed);
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(scaled.rows.rows());

  std::vector<double> best(terms, 0.0);
  double least = ones.squaredNorm();  // of no term
  for (unsigned set = 1; set < 1U << terms; ++set) {
    const auto used = members(set, scaled.rows.cols());
    const Eigen::MatrixXd rows = scaled.rows(Eigen::all, used);
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> factors(rows);
    if (factors.rank() < rows.cols()) continue;  // a smaller set fits as well
    const Eigen::VectorXd solution = factors.solve(ones);
    const double error = (rows * solution - ones).squaredNorm();
    if (solution.minCoeff() < 0 || error >= least) continue;
    least = error;
    best.assign(terms, 0.0);
    for (std::size_t i = 0; i < used.size(); ++i)
      best[used[i]] = solution[static_cast<Eigen::Index>(i)] / scaled.columns[used[i]];
  }
  return best;
}

}  // namespace penstock
