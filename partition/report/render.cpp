#include "partition/report/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace penstock::partition {
namespace {

struct Look {
  char letter, filler;
};

Look look_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::forward:
      return {'F', '-'};
    case ActionKind::backward_input:
      return {'B', '='};
    case ActionKind::backward_weight:
      return {'W', '~'};
    default:
      return {'G', '='};
  }
}

/// `columns` of an action's bar.
std::string bar(const Schedule& schedule, const Action& action, std::size_t columns) {
  const Look look = look_of(action.kind);
  const int rank = schedule.chunk_rank[action.chunk];
  const auto own = std::ranges::find(schedule.chunk_rank, rank) - schedule.chunk_rank.begin();
  const char letter =
      action.chunk == own ? look.letter : static_cast<char>(look.letter - 'A' + 'a');
  std::string text = fmt::format("{}{}", letter, action.micro_batch);
  if (text.size() > columns) text = std::string(1, letter);
  text.resize(columns, look.filler);
  return text;
}

}  // namespace

std::string render(const Schedule& schedule, const Simulation& simulation, int width) {
  const std::size_t digits = fmt::formatted_size("{}", schedule.ranks.size() - 1);
  const double scale = simulation.makespan > 0 ? width / simulation.makespan : 0;
  const auto column = [&](double time) {
    return static_cast<std::size_t>(std::lround(time * scale));
  };
  std::string text;
  for (std::size_t rank = 0; rank < simulation.ranks.size(); ++rank) {
    std::string line;
    for (const TimedAction& timed : simulation.ranks[rank]) {
      if (!computes(timed.action.kind)) continue;
      line.resize(column(timed.start), ' ');
      line += bar(schedule, timed.action, column(timed.end) - column(timed.start));
    }
    line.resize(std::max<std::size_t>(width, line.size()), ' ');
    text += fmt::format("rank {:>{}} |{}|\n", rank, digits, line);
  }
  return text;
}

}  // namespace penstock::partition
