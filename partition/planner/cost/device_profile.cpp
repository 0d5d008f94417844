#include "partition/planner/cost/device_profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "configs/config.h"
#include "configs/source.h"

// A profile is JSON. Its layers have the neutral form of profile.h, with the times of one
// micro-batch of middling size, so whatever reads the neutral form reads a profile too. Beside
// these times each layer has its fitted costs, from which micro-batches of any lengths are
// predicted:
//
//   {"name": …, "device": …, "ranks": 2, "threads": 4, "compute": "fp32",
//    "micro_batch": {"frames": [812, 640], "labels": [61, 48]},
//    "reading": COST, "step_s": 0.004, "parameter_s": 1.2e-9,
//    "layers": [{"name": "conv1", "forward_ms": …, …, "forward": COST,
//                "backward_input": COST, "backward_weight": COST}, …]}
//
// A COST such as {"terms": ["constant", "frames"], "seconds": [2e-5, 3e-7]} is Σ seconds · term.

namespace penstock::partition {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kTerms = {CostTerm::constant,       CostTerm::frames,        CostTerm::longest,
                               CostTerm::frames_squared, CostTerm::frames_labels, CostTerm::labels,
                               CostTerm::labels_squared};

// Maxima of numbers. Larger ones could not become the integers that they stand for.
constexpr double kMost = 1e15, kMostRanks = 1 << 20;

std::optional<CostTerm> term_of(const std::string& name) {
  for (const CostTerm term : kTerms)
    if (name == name_of(term)) return term;
  return std::nullopt;
}

Json names_of(const std::vector<CostTerm>& terms) {
  Json names = Json::array();
  for (const CostTerm term : terms) names.push_back(name_of(term));
  return names;
}

Json to_json(const FittedCost& cost) {
  return {{"terms", names_of(cost.terms)}, {"seconds", cost.seconds}};
}

/// Reader reads JSON member by member, and collects faults with their places.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}
  std::vector<std::string> faults;

  void fault(const std::string& where, const std::string& what) {
    faults.push_back(fmt::format("{}: {}: {}", file_, where, what));
  }
  /// Returns null if the member is missing, after adding a fault.
  const Json* member(const Json& json, const std::string& where, const std::string& key) {
    if (json.is_object())
      if (const auto found = json.find(key); found != json.end()) return &*found;
    fault(where.empty() ? key : where + ": " + key,
          "is missing: write the profile with penstock profile");
    return nullptr;
  }
  std::string text(const Json& json, const std::string& where, const std::string& key) {
    const Json* value = member(json, where, key);
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    fault(where.empty() ? key : where + ": " + key, "expected text, found " + value->dump());
    return {};
  }
  double number(const Json& json, const std::string& where, const std::string& key, double min,
                double max = kMost) {
    const Json* value = member(json, where, key);
    if (value == nullptr) return min;
    if (is_number(*value, min, max)) return value->get<double>();
    fault(where.empty() ? key : where + ": " + key,
          fmt::format("expected a number of at least {} and at most {:g}, found {}", min, max,
                      value->dump()));
    return min;
  }
  /// Returns none after a fault. A value that is no list is treated as a list of one null, which is
  /// no number, so that both faults have the same message.
  std::vector<double> numbers(const Json& json, const std::string& where, const std::string& key) {
    const Json* list = member(json, where, key);
    std::vector<double> numbers;
    if (list == nullptr) return numbers;
    for (const Json& value : list->is_array() ? *list : Json::array({Json()})) {
      if (!is_number(value, 0, kMost)) {
        fault(where.empty() ? key : where + ": " + key,
              "expected a list of numbers of at least 0, found " + list->dump());
        return {};
      }
      numbers.push_back(value.get<double>());
    }
    return numbers;
  }
  /// Reads {"terms": […], "seconds": […]}. All unknown terms are faults, and so is a different
  /// number of terms and seconds.
  FittedCost cost(const Json& json, const std::string& where, const std::string& key) {
    FittedCost cost;
    const Json* found = member(json, where, key);
    if (found == nullptr) return cost;
    const std::string place = where.empty() ? key : where + ": " + key;
    const Json* terms = member(*found, place, "terms");
    cost.seconds = numbers(*found, place, "seconds");
    if (terms == nullptr) return cost;
    for (const Json& name : *terms) {
      const auto term = name.is_string() ? term_of(name) : std::nullopt;
      if (term) cost.terms.push_back(*term);
      if (!term)
        fault(place + ": terms", fmt::format("there is no term {}, only {}", name.dump(),
                                             names_of({kTerms.begin(), kTerms.end()}).dump()));
    }
    if (cost.terms.size() != cost.seconds.size())
      fault(place, fmt::format("{} terms, but {} seconds", cost.terms.size(), cost.seconds.size()));
    return cost;
  }

 private:
  static bool is_number(const Json& value, double min, double max) {
    return value.is_number() && value.get<double>() >= min && value.get<double>() <= max;
  }
  const std::string& file_;
};

MicroBatchLengths lengths_of(Reader& reader, const Json& json) {
  MicroBatchLengths lengths;
  for (const double frames : reader.numbers(json, "micro_batch", "frames"))
    lengths.frames.push_back(static_cast<std::int64_t>(frames));
  for (const double labels : reader.numbers(json, "micro_batch", "labels"))
    lengths.labels.push_back(static_cast<std::int64_t>(labels));
  if (!lengths.labels.empty() && lengths.labels.size() != lengths.frames.size())
    reader.fault("micro_batch", fmt::format("{} utterances have frames, but {} labels",
                                            lengths.frames.size(), lengths.labels.size()));
  return lengths;
}

/// Reads the fields that the neutral form lacks. The list of layers and their names need no check
/// here: parse_profile() has read them before.
DeviceProfile profile_of(Reader& reader, const Json& json) {
  DeviceProfile profile;
  profile.model = reader.text(json, "", "name");
  profile.device = reader.text(json, "", "device");
  profile.compute = reader.text(json, "", "compute");
  profile.ranks = static_cast<int>(reader.number(json, "", "ranks", 1, kMostRanks));
  profile.threads = static_cast<int>(reader.number(json, "", "threads", 1, kMostRanks));
  for (const Json& layer : json["layers"]) {
    const std::string where =
        fmt::format("layers[{}] ({})", profile.layers.size(), layer["name"].get<std::string>());
    FittedLayer& fitted = profile.layers.emplace_back();
    fitted.layer = layer["name"];
    fitted.forward = reader.cost(layer, where, "forward");
    fitted.backward_input = reader.cost(layer, where, "backward_input");
    fitted.backward_weight = reader.cost(layer, where, "backward_weight");
  }
  profile.reading = reader.cost(json, "", "reading");
  profile.step_s = reader.number(json, "", "step_s", 0);
  profile.parameter_s = reader.number(json, "", "parameter_s", 0);
  if (const Json* middling = reader.member(json, "", "micro_batch"))
    profile.middling = lengths_of(reader, *middling);
  return profile;
}

}  // namespace

void check_profile(const DeviceProfile& profile, const ProfiledModel& asked) {
  if (profile.model != asked.model || profile.compute != asked.compute)
    throw ConfigError(
        fmt::format("the costs are of another model\n    measured: {}, {}\n    asked:    {}, {}\n"
                    "    measure again with penstock profile",
                    profile.model, profile.compute, asked.model, asked.compute));
  // The first layer that differs is named, also if one list is a prefix of the other.
  const auto name = [](const auto& layers, std::size_t i, auto of) {
    return i < layers.size() ? of(layers[i]) : std::string("none");
  };
  for (std::size_t i = 0; i < std::max(profile.layers.size(), asked.layers.size()); ++i) {
    const std::string measured =
        name(profile.layers, i, [](const FittedLayer& layer) { return layer.layer; });
    const std::string own = name(asked.layers, i, std::identity());
    if (measured != own)
      throw ConfigError(fmt::format(
          "layers[{}] of the costs is {}, of the model {}: they must be the model's, in "
          "its order. Measure again with penstock profile",
          i, measured, own));
  }
}

// A recipe may freeze other layers than those that were frozen when the profile was measured. Costs
// that it does not need are dropped. Weight gradients that were never measured can't be made up.
std::vector<FittedLayer> trained_costs(const DeviceProfile& profile,
                                       const LayerSequence& sequence) {
  std::vector<FittedLayer> layers = profile.layers;
  std::vector<std::string> frozen;
  const auto plans = plan_without_frames(sequence, {});
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].trained() && layers[i].backward_weight.seconds.empty())
      frozen.push_back(layers[i].layer);
    if (!plans[i].trained()) layers[i].backward_weight = {};
    if (!plans[i].runs_backward()) layers[i].backward_input = {};
  }
  if (!frozen.empty())
    throw ConfigError(fmt::format(
        "the costs have no weight gradients of {}: these layers were frozen when they were "
        "measured, and the recipe trains them. Measure again with penstock profile",
        fmt::join(frozen, ", ")));
  return layers;
}

std::string device_profile_json(const DeviceProfile& profile, const SequenceProfile& neutral) {
  Json layers = Json::array();
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    const FittedLayer& layer = profile.layers[i];
    const LayerProfile& bytes = neutral.layers.at(i);
    layers.push_back({{"name", layer.layer},
                      {"forward_ms", 1e3 * layer.forward.of(profile.middling)},
                      {"backward_ms", 1e3 * (layer.backward_input.of(profile.middling) +
                                             layer.backward_weight.of(profile.middling))},
                      {"activation_bytes", bytes.activation_bytes},
                      {"parameter_bytes", bytes.parameter_bytes},
                      {"transfer_ms", bytes.transfer_ms},
                      {"forward", to_json(layer.forward)},
                      {"backward_input", to_json(layer.backward_input)},
                      {"backward_weight", to_json(layer.backward_weight)}});
  }
  return Json{{"name", profile.model},
              {"source", "penstock profile"},
              {"device", profile.device},
              {"ranks", profile.ranks},
              {"threads", profile.threads},
              {"compute", profile.compute},
              {"micro_batch",
               {{"frames", profile.middling.frames}, {"labels", profile.middling.labels}}},
              {"reading", to_json(profile.reading)},
              {"step_s", profile.step_s},
              {"parameter_s", profile.parameter_s},
              {"layers", layers}}
             .dump(1) +
         "\n";
}

DeviceProfile parse_device_profile(const std::string& text, const std::string& name) {
  parse_profile(text, name);  // checks the neutral form, which the profile includes
  Reader reader(name);
  DeviceProfile profile = profile_of(reader, Json::parse(text));
  if (!reader.faults.empty())
    throw ConfigError(fmt::format("the profile can't be used to predict steps:\n  {}",
                                  fmt::join(reader.faults, "\n  ")));
  return profile;
}

DeviceProfile read_device_profile(const std::filesystem::path& file) {
  const auto text = configs::file_text(file);
  if (!text) throw ConfigError(file.string() + ": no such profile, or it can't be read");
  return parse_device_profile(*text, file.string());
}

}  // namespace penstock::partition
