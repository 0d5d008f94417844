#include "partition/schedule/make_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/error.h"
#include "configs/config.h"
#include "partition/schedule/generators.h"
#include "partition/schedule/schedule.h"

// Names of schedules lead to the functions that make them. The table is the only list of names:
// those of help and errors, and the placements of chunks, come from it. interleaved-N is one
// function for any N, of which the table names those that a planner tries.

namespace penstock::partition {
namespace {

/// A Generator is a named schedule with its placement of chunks.
struct Generator {
  std::string_view name;
  Schedule (*make)(int stages, int micro_batches);
  int chunks = 1;        // chunks per rank
  bool returns = false;  // true if the second chunks go from the last rank back to the first
};

template <int chunks>
Schedule round_robin(int stages, int micro_batches) {
  return interleaved(stages, micro_batches, chunks);
}

constexpr std::array kGenerators{Generator{"gpipe", gpipe},
                                 Generator{"1f1b", one_forward_one_backward},
                                 Generator{"interleaved", round_robin<2>, 2},
                                 Generator{"interleaved-3", round_robin<3>, 3},
                                 Generator{"interleaved-4", round_robin<4>, 4},
                                 Generator{"zb-h1", zb_h1},
                                 Generator{"zb-h2", zb_h2},
                                 Generator{"zb-v", zb_v, 2, true},
                                 Generator{"v-half", v_half, 2, true},
                                 Generator{"v-min", v_min, 2, true},
                                 Generator{"dualpipe-v", dualpipe_v, 2, true}};

static_assert(std::ranges::equal(kGenerators, configs::kNamedSchedules, {}, &Generator::name),
              "recipes name the schedules that are generated");

/// Returns the chunks per rank of a name such as "interleaved-5", or 0 for any other name.
int loops_of(std::string_view name) {
  constexpr std::string_view kPrefix = "interleaved-";
  if (!name.starts_with(kPrefix)) return 0;
  const std::string_view digits = name.substr(kPrefix.size());
  int chunks = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), chunks);
  const bool whole = fault == std::errc() && end == digits.data() + digits.size();
  return whole && digits.front() != '0' && chunks <= kMaxLoops ? chunks : 0;
}

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

bool is_schedule(std::string_view name) {
  const auto names = all_schedule_names();
  return std::ranges::count(names, name) > 0 || loops_of(name) > 2;
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
  if (const int chunks = loops_of(name); chunks > 2)
    return interleaved(stages, micro_batches, chunks);
  if (has_lists(name))
    throw ConfigError(
        fmt::format("schedule \"{}\" can't be made from sizes: it has its own lists", name));
  throw ConfigError(fmt::format("pipeline.schedule = \"{}\": known are {}", name,
                                fmt::join(all_schedule_names(), ", ")));
}

std::vector<int> chunk_ranks(std::string_view name, int stages) {
  // Lists that are yet to be found are planned as one chunk for each stage.
  if (name == kFound) name = "1f1b";
  const auto known = std::ranges::find(kGenerators, name, &Generator::name);
  if (known == kGenerators.end() || stages < 1) return make_schedule(name, stages, 1).chunk_rank;
  return known->returns ? chunks_in_a_v(stages) : chunks_in_loops(stages, known->chunks);
}

const Schedule& ScheduleCache::of(const std::string& name, int stages, int micro_batches) {
  return made_.of({name, stages, micro_batches},
                  [&] { return make_schedule(name, stages, micro_batches); });
}

}  // namespace penstock::partition
