#include "partition/cost/cost_model.h"

namespace penstock {

CostModel analytic_cost_model(const Chain& chain, const BackendSizes& sizes,
                              const DeviceRates& rates) {
  return [&chain, sizes, rates](const MicroBatchLengths& lengths) {
    return analytic_costs(chain, lengths.frames, sizes, rates);
  };
}

}  // namespace penstock
