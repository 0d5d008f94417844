#include "tools/sweep/sweep_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/json_nesting.h"

namespace penstock::tools {
namespace {

using PlanJson = nlohmann::ordered_json;

constexpr int kSweepVersion = 1;

PlanJson axes_json(const std::vector<SweepAxis>& axes) {
  PlanJson json = PlanJson::object();
  for (const SweepAxis& axis : axes) json[axis.key] = axis.written;
  return json;
}

SweepPlan plan_of_json(const PlanJson& json) {
  SweepPlan plan;
  for (const auto& [key, written] : json.at("axes").items()) {
    const auto axis = parse_axis(fmt::format("{}={}", key, written.get<std::string>()));
    if (!axis) throw ConfigError(fmt::format("{} has one value", key));
    plan.axes.push_back(*axis);
  }
  json.at("random").get_to(plan.random);
  json.at("seed").get_to(plan.seed);
  json.at("metric").get_to(plan.metric);
  json.at("halving").get_to(plan.halving.factor);
  json.at("min_steps").get_to(plan.halving.min_steps);
  for (const auto& [key, value] : json.at("config").items())
    plan.shared[key] = value.get<std::string>();
  json.at("points").get_to(plan.points);
  for (const SweepPoint& point : plan.points)
    if (point.size() != plan.axes.size()) throw ConfigError("a point has another number of values");
  json.at("configurations").get_to(plan.configurations);
  if (plan.configurations.size() != plan.points.size())
    throw ConfigError("it has not one configuration for each point");
  return plan;
}

/// Collects values that differ.
class Differences {
 public:
  template <class Value>
  void compare(const std::string& name, const Value& before, const Value& now) {
    if (before != now) lines.push_back(fmt::format("{}: {}, and now {}", name, before, now));
  }

  std::vector<std::string> lines;
};

/// Returns the values by key, "nothing" for a key that only the other has.
std::string value_or_nothing(const configs::FlatConfig& config, const std::string& key) {
  const auto found = config.find(key);
  return found == config.end() ? "nothing" : found->second;
}

configs::FlatConfig texts_of_axes(const std::vector<SweepAxis>& axes) {
  configs::FlatConfig texts;
  for (const SweepAxis& axis : axes) texts[axis.key] = axis.written;
  return texts;
}

void compare_maps(const configs::FlatConfig& before, const configs::FlatConfig& now,
                  Differences& found) {
  std::set<std::string> keys;
  for (const auto& [key, value] : before) keys.insert(key);
  for (const auto& [key, value] : now) keys.insert(key);
  for (const std::string& key : keys)
    found.compare(key, value_or_nothing(before, key), value_or_nothing(now, key));
}

bool same_axes(const SweepPlan& one, const SweepPlan& other) {
  return std::ranges::equal(one.axes, other.axes, [](const SweepAxis& a, const SweepAxis& b) {
    return a.key == b.key && a.written == b.written;
  });
}

/// Compares the runs of two sweeps with the same settings.
void compare_runs(const SweepPlan& saved, const SweepPlan& asked, Differences& found) {
  if (saved.points.size() > asked.points.size() ||
      (!saved.random && saved.points.size() != asked.points.size()))
    found.compare("the number of runs", saved.points.size(), asked.points.size());
  const std::size_t both = std::min(saved.points.size(), asked.points.size());
  for (std::size_t i = 0; i < both; ++i) {
    found.compare(fmt::format("the values of run {}", i + 1),
                  fmt::format("{}", fmt::join(saved.points[i], " ")),
                  fmt::format("{}", fmt::join(asked.points[i], " ")));
    found.compare(
        fmt::format("the hash of run {}'s configuration, which follows from its values", i + 1),
        saved.configurations[i], asked.configurations[i]);
  }
}

}  // namespace

std::string sweep_json(const SweepPlan& plan) {
  const PlanJson json{{"sweep", kSweepVersion},
                      {"axes", axes_json(plan.axes)},
                      {"random", plan.random},
                      {"seed", plan.seed},
                      {"metric", plan.metric},
                      {"halving", plan.halving.factor},
                      {"min_steps", plan.halving.min_steps},
                      {"config", plan.shared},
                      {"points", plan.points},
                      {"configurations", plan.configurations}};
  return json.dump(1, ' ', false, PlanJson::error_handler_t::replace) + '\n';
}

SweepPlan parse_sweep(const std::string& text, const std::string& name) try {
  if (json_nests_too_deeply(text)) throw ConfigError("it nests too deeply");
  const PlanJson json = PlanJson::parse(text);
  if (json.at("sweep") != kSweepVersion) throw ConfigError("another version of penstock wrote it");
  return plan_of_json(json);
} catch (const ConfigError& error) {
  throw ConfigError(fmt::format("{} is no sweep: {}", name, error.what()));
} catch (const nlohmann::json::exception& error) {
  throw ConfigError(fmt::format("{} is no sweep: {}", name, error.what()));
}

// Axes are compared by key, and by order only if that is all that differs: points have it.
std::vector<std::string> sweep_differences(const SweepPlan& saved, const SweepPlan& asked) {
  Differences found;
  const configs::FlatConfig before = texts_of_axes(saved.axes), now = texts_of_axes(asked.axes);
  compare_maps(before, now, found);
  if (before == now &&
      !std::ranges::equal(saved.axes, asked.axes, {}, &SweepAxis::key, &SweepAxis::key))
    found.lines.emplace_back("the order of the keys");
  const auto search = [](const SweepPlan& plan) {
    return plan.random ? "random points" : "a grid";
  };
  found.compare<std::string>("the search", search(saved), search(asked));
  if (saved.random && asked.random) {
    found.compare("--seed", saved.seed, asked.seed);
    if (saved.halving.factor > 0)
      found.compare("--runs, which is fixed with --halving", saved.points.size(),
                    asked.points.size());
    else if (asked.points.size() < saved.points.size())
      found.compare("--runs, which can only grow", saved.points.size(), asked.points.size());
  }
  found.compare("--metric", saved.metric, asked.metric);
  found.compare("--halving", saved.halving.factor, asked.halving.factor);
  found.compare("--min-steps", saved.halving.min_steps, asked.halving.min_steps);
  configs::FlatConfig shared = saved.shared, shared_now = asked.shared;
  for (const auto& [key, text] : now) shared.erase(key);
  for (const auto& [key, text] : before) shared_now.erase(key);
  compare_maps(shared, shared_now, found);
  if (found.lines.empty()) compare_runs(saved, asked, found);
  return found.lines;
}

void keep_points(const SweepPlan& saved, SweepPlan& plan) {
  if (!saved.random || !plan.random || saved.seed != plan.seed || !same_axes(saved, plan) ||
      saved.points.size() > plan.points.size())
    return;
  std::ranges::copy(saved.points, plan.points.begin());
}

}  // namespace penstock::tools
