#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "configs/flatten.h"
#include "tools/sweep/halving.h"
#include "tools/sweep/sweep_axis.h"
#include "tools/sweep/sweep_points.h"

namespace penstock::tools {

/// A SweepPlan holds all on which the results of a sweep depend. It is stored as sweep.json.
struct SweepPlan {
  std::vector<SweepAxis> axes = {};
  bool random = false;     // a random search, which may grow; otherwise a grid
  std::uint64_t seed = 1;  // of a random search
  std::string metric = "wer";
  HalvingOptions halving = {};
  configs::FlatConfig shared = {};               // the keys of all runs, but those of the axes
  std::vector<SweepPoint> points = {};           // a run each
  std::vector<std::string> configurations = {};  // of each run, a hash of all its keys
};

[[nodiscard]] std::string sweep_json(const SweepPlan& plan);

/// Parses a sweep.json, which messages call by `name`. ConfigError if it is none.
[[nodiscard]] SweepPlan parse_sweep(const std::string& text, const std::string& name);

/// Returns a line for each setting in which a command differs from the sweep that it is to
/// continue: "trainer.seed: 1, and now 2". A random search without
/// halving may have more runs than before. If there are no such lines, all runs of `saved` are
/// among those of `asked`, with the same points and configurations.
[[nodiscard]] std::vector<std::string> sweep_differences(const SweepPlan& saved,
                                                         const SweepPlan& asked);

/// Gives a random search the points of the one that it continues, as they are stored: another
/// mathematical library may round differently. Does nothing if the searches differ.
void keep_points(const SweepPlan& saved, SweepPlan& plan);

}  // namespace penstock::tools
