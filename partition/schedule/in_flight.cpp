#include "partition/schedule/in_flight.h"

#include <algorithm>
#include <set>

#include "partition/schedule/edge.h"

namespace penstock::partition {
namespace {

// One pass over a rank's list counts, for one chunk, the buffers of each kind that are in use. An
// action first takes its buffers, then the maximum is updated, then it releases what it needs no
// longer. See in_flight.h for the lifetime of each kind.

bool starts_backward(const Action& action) {
  return action.kind == ActionKind::backward || action.kind == ActionKind::backward_input;
}

bool ends_backward(const Action& action) {
  return action.kind == ActionKind::backward || action.kind == ActionKind::backward_weight;
}

/// How a chunk is connected to the chunks before and after it.
struct Neighbours {
  Neighbours(const Schedule& schedule, int chunk)
      : first(chunk == 0),
        last(chunk + 1 == schedule.chunks()),
        receives_input(is_message(schedule, {chunk - 1, chunk, Edge::Kind::activation})),
        sends_output(is_message(schedule, {chunk, chunk + 1, Edge::Kind::activation})) {}

  bool first, last, receives_input, sends_output;
};

void take(const Action& a, int chunk, const Neighbours& with, InFlight& now) {
  if (a.chunk == chunk + 1 && !with.last && !with.sends_output && starts_backward(a))
    ++now.output_gradients;
  if (a.chunk != chunk) return;
  if (a.kind == ActionKind::receive_activation) ++now.inputs;
  if (a.kind == ActionKind::receive_gradient) ++now.output_gradients;
  if (starts_backward(a) || a.kind == ActionKind::forward) ++now.recomputed;
  if (a.kind == ActionKind::offload) ++now.host;
  if (a.kind == ActionKind::reload) ++now.slots;
  if (a.kind != ActionKind::forward) return;
  ++now.slots;
  if (!with.receives_input) ++now.inputs;
}

/// Releases buffers in an evaluation: an input as soon as it is used, an output once it has been
/// passed on.
void give_back_evaluated(const Action& a, int chunk, const Neighbours& with, InFlight& now) {
  if (a == Action{ActionKind::forward, chunk, a.micro_batch}) --now.inputs, --now.recomputed;
  const bool moved = !with.last && !with.sends_output;
  const ActionKind passes_on =
      with.sends_output ? ActionKind::send_activation : ActionKind::forward;
  if (a == Action{passes_on, moved ? chunk + 1 : chunk, a.micro_batch}) --now.slots;
}

void give_back(const Action& a, int chunk, const Neighbours& with, InFlight& now) {
  if (a == Action{ActionKind::forward, chunk, a.micro_batch}) --now.recomputed;
  if (a == Action{ActionKind::offload, chunk, a.micro_batch}) --now.slots;
  if (a.chunk != chunk || !ends_backward(a)) return;
  --now.recomputed;
  --now.slots;
  --now.inputs;
  if (!with.last) --now.output_gradients;
}

}  // namespace

void InFlight::cover(const InFlight& other) {
  slots = std::max(slots, other.slots);
  inputs = std::max(inputs, other.inputs);
  output_gradients = std::max(output_gradients, other.output_gradients);
  input_gradients = std::max(input_gradients, other.input_gradients);
  recomputed = std::max(recomputed, other.recomputed);
  host = std::max(host, other.host);
  caches = std::max(caches, other.caches);
}

InFlight in_flight_of(int micro_batches) {
  return {.slots = micro_batches,
          .inputs = micro_batches + 1,
          .output_gradients = micro_batches + 1,
          .input_gradients = 2,
          .recomputed = micro_batches};
}

InFlight count_in_flight(const Schedule& schedule, int chunk) {
  const Neighbours with(schedule, chunk);
  InFlight now, max;
  std::set<int> on_host;
  if (schedule.forward_only) now.caches = schedule.chunks();
  if (!schedule.forward_only && !with.first) now.input_gradients = with.receives_input ? 2 : 1;
  // Between take() and the release, `now` is what is held while the action runs.
  for (const Action& a : schedule.ranks.at(schedule.chunk_rank.at(chunk))) {
    take(a, chunk, with, now);
    max.cover(now);
    if (schedule.forward_only)
      give_back_evaluated(a, chunk, with, now);
    else
      give_back(a, chunk, with, now);
    if (a.chunk != chunk) continue;
    if (a.kind == ActionKind::offload) on_host.insert(a.micro_batch);
    if (starts_backward(a) && on_host.erase(a.micro_batch) > 0) --now.host;
  }
  return max;
}

}  // namespace penstock::partition
