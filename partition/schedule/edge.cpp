#include "partition/schedule/edge.h"

#include <fmt/format.h>

namespace penstock::partition {

bool is_send(ActionKind kind) {
  return kind == ActionKind::send_activation || kind == ActionKind::send_gradient;
}

bool is_receive(ActionKind kind) {
  return kind == ActionKind::receive_activation || kind == ActionKind::receive_gradient;
}

// A transfer names the chunk of its own rank. A send's chunk produces, and a receive's consumes.
// Activations go to the next chunk, gradients to the one before.
Edge edge_of(const Action& transfer) {
  const int chunk = transfer.chunk;
  switch (transfer.kind) {
    case ActionKind::send_activation:
      return {chunk, chunk + 1, Edge::Kind::activation};
    case ActionKind::receive_activation:
      return {chunk - 1, chunk, Edge::Kind::activation};
    case ActionKind::send_gradient:
      return {chunk, chunk - 1, Edge::Kind::gradient};
    default:
      return {chunk + 1, chunk, Edge::Kind::gradient};
  }
}

bool is_message(const Schedule& schedule, const Edge& edge) {
  const auto exists = [&](int chunk) { return chunk >= 0 && chunk < schedule.chunks(); };
  return exists(edge.producer) && exists(edge.consumer) &&
         schedule.chunk_rank[edge.producer] != schedule.chunk_rank[edge.consumer];
}

// A weight gradient reads what the rank already has: the saved activations, and the output's
// gradient, for which the input gradient has waited.
std::optional<Edge> input_edge(const Schedule& schedule, const Action& computation) {
  const int chunk = computation.chunk;
  if (computation.kind == ActionKind::backward_weight) return std::nullopt;
  const Edge edge = computation.kind == ActionKind::forward
                        ? Edge{chunk - 1, chunk, Edge::Kind::activation}
                        : Edge{chunk + 1, chunk, Edge::Kind::gradient};
  return is_message(schedule, edge) ? std::optional(edge) : std::nullopt;
}

std::string describe(const Edge& edge) {
  return fmt::format("{} from chunk {} to chunk {}",
                     edge.kind == Edge::Kind::activation ? "activation" : "gradient", edge.producer,
                     edge.consumer);
}

}  // namespace penstock::partition
