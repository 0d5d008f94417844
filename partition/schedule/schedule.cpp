#include "partition/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock::partition {

bool computes(ActionKind kind) {
  switch (kind) {
    case ActionKind::forward:
    case ActionKind::backward:
    case ActionKind::backward_input:
    case ActionKind::backward_weight:
      return true;
    default:
      return false;
  }
}

bool splits_backward(const Schedule& schedule) {
  const auto is_part = [](const Action& a) { return a.kind == ActionKind::backward_weight; };
  return std::ranges::any_of(schedule.ranks,
                             [&](const auto& list) { return std::ranges::any_of(list, is_part); });
}

std::string_view name_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::receive_activation:
      return "receive activation";
    case ActionKind::forward:
      return "forward";
    case ActionKind::send_activation:
      return "send activation";
    case ActionKind::receive_gradient:
      return "receive gradient";
    case ActionKind::backward:
      return "backward";
    case ActionKind::backward_input:
      return "backward input";
    case ActionKind::backward_weight:
      return "backward weight";
    case ActionKind::send_gradient:
      return "send gradient";
    case ActionKind::offload:
      return "offload";
    case ActionKind::reload:
      return "reload";
    case ActionKind::reduce:
      return "reduce";
    case ActionKind::step:
      return "step";
  }
  return "unknown action";
}

std::string describe(const Action& action) {
  std::string text(name_of(action.kind));
  if (action.kind == ActionKind::step) return text;
  if (action.kind != ActionKind::reduce) {
    text += fmt::format(" of micro-batch {}", action.micro_batch);
  }
  return fmt::format("{} on chunk {}", text, action.chunk);
}

std::vector<int> chunks_in_loops(int stages, int chunks) {
  std::vector<int> ranks;
  for (int chunk = 0; chunk < chunks * stages; ++chunk) ranks.push_back(chunk % stages);
  return ranks;
}

// The last stage holds both middle chunks, so nothing is sent between them, and the first stage has
// both the features and the loss.
std::vector<int> chunks_in_a_v(int stages) {
  std::vector<int> ranks;
  for (int chunk = 0; chunk < 2 * stages; ++chunk)
    ranks.push_back(std::min(chunk, 2 * stages - 1 - chunk));
  return ranks;
}

}  // namespace penstock::partition
