#include "layers/cuda/sizes/recurrence.h"

namespace penstock::layers::cuda {
namespace {

std::int64_t entries(const RecurrenceShape& shape) {
  return shape.directions * static_cast<std::int64_t>(shape.lengths.size());
}

std::int64_t bytes(std::int64_t count, DType dtype) {
  return count * static_cast<std::int64_t>(size_of(dtype));
}

}  // namespace

RecurrenceForwardRoom::RecurrenceForwardRoom(Scratch& scratch, const RecurrenceShape& shape,
                                             DType compute) {
  const std::int64_t states = entries(shape) * shape.hidden;
  first_rows_DN = scratch.take<std::int64_t>(entries(shape));
  const std::size_t first = scratch.used();
  states_DNH = scratch.take<std::byte>(bytes(states, compute));
  cells_DNH = scratch.take<float>(shape.kind == RecurrenceKind::lstm ? states : 0);
  u_DNG = scratch.take<float>(states * shape.gates());
  zeroed = scratch.used() - first;
}

RecurrenceBackwardRoom::RecurrenceBackwardRoom(Scratch& scratch, const RecurrenceShape& shape,
                                               DType compute) {
  const std::int64_t states = entries(shape) * shape.hidden;
  first_rows_DN = scratch.take<std::int64_t>(entries(shape));
  const std::size_t first = scratch.used();
  dh_DNH = scratch.take<float>(states);
  ds_DNH = scratch.take<float>(shape.kind == RecurrenceKind::lstm ? states : 0);
  zeroed = scratch.used() - first;
  g_DNG = scratch.take<std::byte>(bytes(states * shape.gates(), compute));
}

Workspace recurrence_workspace(const RecurrenceShape& shape, DType compute) {
  Scratch forward, backward;
  RecurrenceForwardRoom(forward, shape, compute);
  RecurrenceBackwardRoom(backward, shape, compute);
  return {.forward = forward.used(), .backward_input = backward.used()};
}

}  // namespace penstock::layers::cuda
