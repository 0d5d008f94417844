#include "partition/schedule/validator/unsound.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace penstock::partition {
namespace {

std::string place(const Schedule& schedule, const Position& position) {
  return fmt::format("action {} ({})", position.index,
                     describe(schedule.ranks[position.rank][position.index]));
}

/// Joins the words of a fault, with its positions as this program counts them. A reader of files
/// may print the same fault with rows and columns.
std::string text_of(const Schedule& schedule, const Fault& fault) {
  std::string text;
  for (const auto& word : fault) {
    if (const auto* position = std::get_if<Position>(&word))
      text += describe(schedule, *position);
    else if (const auto* same = std::get_if<SameRank>(&word))
      text += place(schedule, same->position);
    else
      text += std::get<std::string>(word);
  }
  return text;
}

}  // namespace

UnsoundSchedule::UnsoundSchedule(const Schedule& schedule, Fault fault)
    : ConfigError(
          fmt::format("schedule \"{}\" is not sound: {}", schedule.name, text_of(schedule, fault))),
      fault_(std::move(fault)) {}

std::string describe(const Schedule& schedule, const Position& position) {
  return fmt::format("rank {}, {}", position.rank, place(schedule, position));
}

void throw_unsound(const Schedule& schedule, Fault fault) {
  throw UnsoundSchedule(schedule, std::move(fault));
}

}  // namespace penstock::partition
