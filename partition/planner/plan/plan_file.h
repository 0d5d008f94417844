#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "partition/planner/plan/plan.h"

namespace penstock::partition {

/// PlannedModel is the model with which a plan file must agree.
struct PlannedModel {
  std::string summary;              // result of model_summary()
  std::vector<std::string> layers;  // names, in the order of the layer sequence
};

/// Formats the plan as TOML that a person can read and edit.
[[nodiscard]] std::string plan_toml(const Plan& plan);

/// Parses a plan file's text; `name` is its name in messages. Throws ConfigError, which lists every
/// fault with its line:
/// - bad syntax, unknown and missing keys, wrong types;
/// - another model;
/// - layers that do not cover the layer sequence exactly once in order;
/// - chunks that the schedule puts on other stages;
/// - a rank map that does not name every rank once;
/// - an order that does not name every micro-batch once;
/// - action lists that are not sound.
Plan parse_plan(const std::string& text, const std::string& name, const PlannedModel& model);

/// Reads and parses a plan file. Also throws ConfigError if it cannot be read.
Plan read_plan(const std::filesystem::path& file, const PlannedModel& model);

/// Writes a plan file atomically. Throws ConfigError if it cannot be written.
void write_plan(const std::filesystem::path& file, const Plan& plan);

/// Reads a plan file of any model, for display and not for training: ChunkPlan::first is not set.
/// Throws ConfigError if the file cannot be read or has faults of syntax, or if a stage has no
/// layers or no ranks.
Plan read_any_plan(const std::filesystem::path& file);

}  // namespace penstock::partition
