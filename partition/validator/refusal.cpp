#include "partition/validator/refusal.h"

#include "configs/config.h"

namespace penstock {

std::string describe(const Schedule& schedule, const Position& position) {
  return "rank " + std::to_string(position.rank) + ", action " + std::to_string(position.index) +
         " (" + describe(schedule.ranks[position.rank][position.index]) + ")";
}

void refuse(const Schedule& schedule, const std::string& fault) {
  throw ConfigError("schedule \"" + schedule.name + "\" is not sound: " + fault);
}

}  // namespace penstock
