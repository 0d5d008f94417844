#include "partition/in_flight.h"

#include <algorithm>

#include "partition/edge.h"

namespace penstock {

void InFlight::cover(const InFlight& other) {
  slots = std::max(slots, other.slots);
  inputs = std::max(inputs, other.inputs);
  output_gradients = std::max(output_gradients, other.output_gradients);
}

InFlight count_in_flight(const Schedule& schedule, int chunk) {
  const bool receives_input = is_message(schedule, {chunk - 1, chunk, Edge::Kind::activation});
  const bool receives_gradient = is_message(schedule, {chunk + 1, chunk, Edge::Kind::gradient});
  const bool sends_output = is_message(schedule, {chunk, chunk + 1, Edge::Kind::activation});
  InFlight now, most;
  for (const Action& a : schedule.ranks.at(schedule.chunk_rank.at(chunk))) {
    if (a.chunk != chunk) continue;
    switch (a.kind) {
      case ActionKind::receive_activation:
        ++now.inputs;
        break;
      case ActionKind::forward:
        ++now.slots;
        if (!receives_input) ++now.inputs;
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
    const bool released =
        schedule.forward_only
            ? a.kind == (sends_output ? ActionKind::send_activation : ActionKind::forward)
            : a.kind == ActionKind::backward || a.kind == ActionKind::backward_weight;
    if (!released) continue;
    --now.slots;
    --now.inputs;
    if (receives_gradient && !schedule.forward_only) --now.output_gradients;
  }
  return most;
}

}  // namespace penstock
