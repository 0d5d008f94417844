#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "partition/plan/plan.h"

namespace penstock::partition {

/// What a plan file must agree with.
struct PlannedModel {
  std::string summary;              // model_summary()
  std::vector<std::string> layers;  // names, in the order of the layer sequence
};

/// The plan as TOML that a person can read and edit.
[[nodiscard]] std::string plan_toml(const Plan& plan);

/// Reads such text; `name` stands for it in messages. ConfigError lists every fault with its line:
/// bad syntax, unknown and missing keys, wrong types, another model, layers that do not cover the
/// layer sequence exactly once in order, chunks that the schedule holds elsewhere, a rank map that
/// does not name every rank once, an order that does not name every micro-batch once, action lists
/// that are not sound.
Plan parse_plan(const std::string& text, const std::string& name, const PlannedModel& model);

/// The same from a file. ConfigError if it can't be read.
Plan read_plan(const std::filesystem::path& file, const PlannedModel& model);

/// Whole or not at all. ConfigError if it can't be written.
void write_plan(const std::filesystem::path& file, const Plan& plan);

}  // namespace penstock::partition
