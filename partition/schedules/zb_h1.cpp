#include "partition/schedules/zb_h1.h"

#include "partition/schedules/complete.h"
#include "partition/schedules/late_weights.h"

namespace penstock {

Schedule zb_h1(int stages, int micro_batches) {
  return in_line("zb-h1", stages, micro_batches, [&](int stage) {
    return late_weights(stage, micro_batches, {.ahead = stages - 1 - stage, .late = stage});
  });
}

}  // namespace penstock
