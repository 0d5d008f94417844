#include "partition/cost/cost_model.h"

namespace penstock::partition {

CostModel analytic_cost_model(const LayerSequence& sequence, const layers::BackendSizes& sizes,
                              const DeviceRates& rates) {
  return [&sequence, sizes, rates](const MicroBatchLengths& lengths) {
    return analytic_costs(sequence, lengths.frames, sizes, rates);
  };
}

}  // namespace penstock::partition
