#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock::partition {

/// What a rank of a pipeline can be told to do.
enum class ActionKind {
  receive_activation,  // post the receive of a chunk's input
  forward,
  send_activation,
  receive_gradient,  // post the receive of the gradient of a chunk's output
  backward,          // input and weight gradient together
  backward_input,
  backward_weight,
  send_gradient,
  offload,  // what forward keeps for backward leaves for the host's memory
  reload,   // and comes back
  reduce,   // gradients of the chunk are whole: add them over the replicas
  step,     // agree on the norm with all ranks, step the optimizer
};

/// One entry of a rank's list. A transfer names the chunk at which this rank takes part: the one
/// that sends or the one that receives.
struct Action {
  ActionKind kind = ActionKind::forward;
  int chunk = 0;        // place in the layer sequence of chunks; unused by step
  int micro_batch = 0;  // place in the replica's order; unused by reduce and step
  bool operator==(const Action&) const = default;
};

/// Actions of every rank of one pipeline. Chunk c is held by rank chunk_rank[c].
struct Schedule {
  std::string name;
  int micro_batches = 0;
  bool forward_only = false;  // validation and inference: no backward, reduce or step
  std::vector<int> chunk_rank = {};
  std::vector<std::vector<Action>> ranks = {};

  int chunks() const { return static_cast<int>(chunk_rank.size()); }
};

/// Forward, backward or a part of it.
bool computes(ActionKind kind);

/// Whether weight gradients are actions of their own.
bool splits_backward(const Schedule& schedule);

/// "receive activation", "forward", …
std::string_view name_of(ActionKind kind);

/// "forward of micro-batch 3 on chunk 1", for logs and errors.
std::string describe(const Action& action);

}  // namespace penstock::partition
