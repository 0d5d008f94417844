#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock::partition {

/// The actions that a list may contain.
enum class ActionKind {
  receive_activation,  // post the receive of a chunk's input
  forward,
  send_activation,
  receive_gradient,  // post the receive of the gradient of a chunk's output
  backward,          // input gradient and weight gradient together
  backward_input,
  backward_weight,
  send_gradient,
  offload,  // copy a micro-batch's activations to host memory and free them on the device
  reload,   // copy them back to the device
  reduce,   // add the chunk's gradients over the replicas; they are complete on this rank
  step,     // agree on the gradient norm with all ranks, then run the optimizer
};

/// An Action is one entry of a rank's list. A transfer names this rank's own chunk: the sending one
/// for a send, the receiving one for a receive.
struct Action {
  ActionKind kind = ActionKind::forward;
  int chunk = 0;        // index in the layer sequence of chunks; unused by step
  int micro_batch = 0;  // index in the replica's order; unused by reduce and step
  bool operator==(const Action&) const = default;
};

/// A Schedule holds the actions of every rank of one pipeline. Rank chunk_rank[c] holds chunk c.
struct Schedule {
  std::string name;
  int micro_batches = 0;
  bool forward_only = false;  // validation and inference: no backward, reduce or step
  std::vector<int> chunk_rank = {};
  std::vector<std::vector<Action>> ranks = {};

  int chunks() const { return static_cast<int>(chunk_rank.size()); }
};

/// Returns true for forward, backward and the two parts of backward.
bool computes(ActionKind kind);

/// Returns true if weight gradients are separate actions.
bool splits_backward(const Schedule& schedule);

/// Returns "receive activation", "forward", …
std::string_view name_of(ActionKind kind);

/// Returns, for example, "forward of micro-batch 3 on chunk 1", for logs and errors.
std::string describe(const Action& action);

/// Returns the rank of each chunk if chunks go round the ranks: 0 1 2 0 1 2.
[[nodiscard]] std::vector<int> chunks_in_loops(int stages, int chunks);

/// Returns the rank of each chunk if the second half of the chunks goes back: 0 1 2 2 1 0.
[[nodiscard]] std::vector<int> chunks_in_a_v(int stages);

}  // namespace penstock::partition
