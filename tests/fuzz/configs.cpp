#include <algorithm>
#include <string>

#include "configs/flatten.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "partition/planner/cluster/cluster_file.h"
#include "partition/planner/cost/device_file.h"
#include "partition/planner/cost/device_profile.h"
#include "partition/planner/cost/profile.h"
#include "partition/planner/plan/plan_file.h"
#include "partition/schedule/csv/schedule_csv.h"
#include "tests/fuzz/parts.h"
#include "tests/fuzz/readers.h"
#include "tests/support/system/temporary_folder.h"

// These are the readers of texts in which people and other tools describe runs: recipes, clusters,
// devices, plans, schedules and measured costs.

namespace penstock::test {

void read_recipe(std::string_view bytes) {
  const auto families = layers::model_families();
  expect_answer([&] {
    (void)configs::flatten(configs::parse_config(std::string(bytes), "recipe.toml", families));
  });
}

// The input holds the texts of three recipes, which may include each other.
void read_included_recipes(std::string_view bytes) {
  const TemporaryFolder folder;
  for (const char* name : {"recipe.toml", "a.toml", "b.toml"})
    write_file(folder.path() / name, take_part(bytes));
  const auto families = layers::model_families();
  expect_answer([&] {
    (void)configs::flatten(configs::load_config(folder.path() / "recipe.toml", families));
  });
}

void read_cluster_file(std::string_view bytes) {
  expect_answer([&] {
    (void)partition::cluster_toml(partition::parse_cluster(std::string(bytes), "cluster.toml"));
  });
}

void read_device_file(std::string_view bytes) {
  expect_answer([&] {
    (void)partition::device_toml(partition::parse_device(std::string(bytes), "device.toml"));
  });
}

void read_plan_file(std::string_view bytes) {
  const partition::PlannedModel model{.summary = "m", .layers = {"a", "b", "c", "d"}};
  expect_answer([&] {
    (void)partition::plan_toml(partition::parse_plan(std::string(bytes), "plan.toml", model));
  });
  const TemporaryFolder folder;
  write_file(folder.path() / "plan.toml", bytes);
  expect_answer([&] { (void)partition::read_any_plan(folder.path() / "plan.toml"); });
}

void read_schedule_csv(std::string_view bytes) {
  const TemporaryFolder folder;
  write_file(folder.path() / "a.csv", bytes);
  const auto rows = static_cast<int>(std::ranges::count(bytes, '\n'));
  expect_answer([&] { (void)partition::read_schedule_file(folder.path() / "a.csv", rows); });
}

void read_sequence_json(std::string_view bytes) {
  expect_answer([&] { (void)partition::parse_profile(std::string(bytes), "costs.json"); });
  expect_answer([&] { (void)partition::parse_device_profile(std::string(bytes), "costs.json"); });
}

}  // namespace penstock::test
