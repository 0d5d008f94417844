#include "partition/schedules/zb_h2.h"

#include "partition/schedules/complete.h"
#include "partition/schedules/late_weights.h"

namespace penstock {

Schedule zb_h2(int stages, int micro_batches) {
  return in_line("zb-h2", stages, micro_batches, [&](int stage) {
    return late_weights(stage, micro_batches,
                        {.ahead = 2 * (stages - 1 - stage), .late = 2 * stage});
  });
}

}  // namespace penstock
