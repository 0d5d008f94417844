#pragma once

#include <compare>
#include <optional>
#include <string>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// A way for messages between two neighbouring chunks. Each has a first-in-first-out queue of its
/// own: two chunks a rank may put several edges between the same two ranks.
struct Edge {
  enum class Kind { activation, gradient };
  int producer = 0;  // chunks
  int consumer = 0;
  Kind kind = Kind::activation;

  /// Different for all edges of a layer sequence: the `tag` of a Message.
  int tag() const { return 2 * producer + (kind == Kind::gradient ? 1 : 0); }
  auto operator<=>(const Edge&) const = default;
};

bool is_send(ActionKind kind);
bool is_receive(ActionKind kind);

/// The edge that a send or a receive uses.
Edge edge_of(const Action& transfer);

/// Whether the edge joins two chunks of the layer sequence that different ranks hold. Within a rank
/// what passes is moved, not sent.
bool is_message(const Schedule& schedule, const Edge& edge);

/// By which a computation gets what it takes from another rank, if it does.
std::optional<Edge> input_edge(const Schedule& schedule, const Action& computation);

/// "activation from chunk 0 to chunk 1"
std::string describe(const Edge& edge);

}  // namespace penstock::partition
