#include "tools/sweep/halving.h"

#include <algorithm>

// Successive halving (Karnin, Koren & Somekh, "Almost optimal exploration in multi-armed bandits",
// ICML 2013; Jamieson & Talwalkar, "Non-stochastic best arm identification and hyperparameter
// optimization", AISTATS 2016): all runs train to a first rung, the best 1 / factor of them train
// on to the next rung, which is `factor` times as far, and so on. Rungs are steps / factor^k,
// rounded up, for as many k as leave a run to each rung, and while a rung has `min_steps`. A run
// resumes exactly, so it trains no step twice, and ends with the bits of an undisturbed one. The
// first rung costs runs × its steps, and each later one a share of 1 - 1 / factor of that: 27 runs
// with factor 3 cost (1 + 3 × 2/3) × steps, as much as 3 runs to the end.

namespace penstock::tools {

std::vector<std::int64_t> rung_steps(const HalvingOptions& halving, std::int64_t steps,
                                     std::int64_t runs) {
  std::vector<std::int64_t> rungs = {steps};
  if (halving.factor < 2) return rungs;
  for (std::int64_t left = runs / halving.factor, power = halving.factor; left > 0;
       left /= halving.factor, power *= halving.factor) {
    const std::int64_t rung = (steps + power - 1) / power;
    if (rung < halving.min_steps || rung == rungs.back()) break;
    rungs.push_back(rung);
  }
  std::ranges::reverse(rungs);
  return rungs;
}

std::vector<std::size_t> survivors(std::span<const std::optional<double>> metrics,
                                   std::int64_t factor) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < metrics.size(); ++i)
    if (metrics[i]) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return *metrics[i]; });
  const std::size_t kept =
      std::max<std::size_t>(1, metrics.size() / static_cast<std::size_t>(factor));
  order.resize(std::min(order.size(), kept));
  std::ranges::sort(order);
  return order;
}

}  // namespace penstock::tools
