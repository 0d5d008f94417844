#pragma once

#include <compare>
#include <optional>
#include <string>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// An Edge carries messages of one kind between two neighbouring chunks. Each edge has its own
/// first-in-first-out queue: with two chunks per rank, the same two ranks may share several edges.
struct Edge {
  enum class Kind { activation, gradient };
  int producer = 0;  // both ends are chunks
  int consumer = 0;
  Kind kind = Kind::activation;

  /// A number from 0 to 2 chunks - 1, different for all edges of a layer sequence.
  int number() const { return 2 * producer + (kind == Kind::gradient ? 1 : 0); }
  auto operator<=>(const Edge&) const = default;
};

bool is_send(ActionKind kind);
bool is_receive(ActionKind kind);

/// Returns the edge that a send or a receive uses.
Edge edge_of(const Action& transfer);

/// Returns true if the edge joins two chunks of the layer sequence that are on different ranks.
/// Within a rank the tensor is moved, not sent.
bool is_message(const Schedule& schedule, const Edge& edge);

/// Returns the edge by which a computation receives its input from another rank, if there is one.
std::optional<Edge> input_edge(const Schedule& schedule, const Action& computation);

/// Returns, for example, "activation from chunk 0 to chunk 1".
std::string describe(const Edge& edge);

}  // namespace penstock::partition
