#include "partition/schedule/make_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>

#include "base/error.h"
#include "configs/config.h"
#include "partition/schedule/interleaved.h"
#include "partition/schedule/one_chunk.h"
#include "partition/schedule/repeating_v.h"
#include "partition/schedule/zb_v.h"

namespace penstock::partition {
namespace {

struct Generator {
  std::string_view name;
  Schedule (*make)(int stages, int micro_batches);
};

constexpr std::array kGenerators{Generator{"gpipe", gpipe},
                                 Generator{"1f1b", one_forward_one_backward},
                                 Generator{"interleaved", interleaved},
                                 Generator{"zb-h1", zb_h1},
                                 Generator{"zb-h2", zb_h2},
                                 Generator{"zb-v", zb_v},
                                 Generator{"v-half", v_half},
                                 Generator{"v-min", v_min}};

void check_positive(const char* what, int value) {
  if (value >= 1) return;
  throw ConfigError(fmt::format("{} = {}: a schedule needs at least 1", what, value));
}

}  // namespace

bool is_schedule_file(std::string_view name) { return name.ends_with(".csv"); }

bool has_lists(std::string_view name) { return name == kFound || is_schedule_file(name); }

std::vector<std::string_view> schedule_names() {
  std::vector<std::string_view> names;
  for (const Generator& generator : kGenerators) names.push_back(generator.name);
  return names;
}

std::vector<std::string_view> all_schedule_names() {
  auto names = schedule_names();
  names.push_back(kFound);
  return names;
}

Schedule make_schedule(std::string_view name, int stages, int micro_batches) {
  check_positive("pipeline.stages", stages);
  check_positive("micro-batches of a lane's step", micro_batches);
  for (const Generator& generator : kGenerators) {
    if (generator.name == name) return generator.make(stages, micro_batches);
  }
  if (has_lists(name))
    throw ConfigError(
        fmt::format("schedule \"{}\" can't be made from sizes: it has its own lists", name));
  throw ConfigError(fmt::format("pipeline.schedule = \"{}\": known are {}", name,
                                fmt::join(all_schedule_names(), ", ")));
}

std::vector<int> chunk_ranks(std::string_view name, int stages) {
  if (name == kFound) name = "1f1b";
  // Their patterns are looked for, whatever the number of micro-batches; their chunks lie alike.
  if (name == "v-half" || name == "v-min") name = "zb-v";
  return make_schedule(name, stages, 1).chunk_rank;
}

}  // namespace penstock::partition
