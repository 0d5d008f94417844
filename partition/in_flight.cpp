#include "partition/in_flight.h"

#include <algorithm>

namespace penstock {
namespace {

bool is_forward_only(const Schedule& schedule) {
  for (const auto& list : schedule.ranks)
    for (const Action& a : list)
      if (a.kind == ActionKind::backward || a.kind == ActionKind::backward_weight) return false;
  return true;
}

}  // namespace

InFlight count_in_flight(const Schedule& schedule, int chunk) {
  const bool forward_only = is_forward_only(schedule);
  InFlight now, most;
  for (const Action& a : schedule.ranks.at(schedule.chunk_rank.at(chunk))) {
    if (a.chunk != chunk) continue;
    switch (a.kind) {
      case ActionKind::receive_activation:
        ++now.inputs;
        break;
      case ActionKind::forward:
        ++now.slots;
        if (chunk == 0) ++now.inputs;
        break;
      case ActionKind::receive_gradient:
        ++now.output_gradients;
        break;
      default:
        break;
    }
    most.slots = std::max(most.slots, now.slots);
    most.inputs = std::max(most.inputs, now.inputs);
    most.output_gradients = std::max(most.output_gradients, now.output_gradients);
    const bool last_chunk = chunk + 1 == schedule.chunks();
    const bool released =
        forward_only ? a.kind == (last_chunk ? ActionKind::forward : ActionKind::send_activation)
                     : a.kind == ActionKind::backward || a.kind == ActionKind::backward_weight;
    if (!released) continue;
    --now.slots;
    --now.inputs;
    if (!last_chunk && !forward_only) --now.output_gradients;
  }
  return most;
}

}  // namespace penstock
