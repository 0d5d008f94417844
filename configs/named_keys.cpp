#include "configs/named_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "configs/include.h"

namespace penstock::configs {
namespace {

/// Renamed holds a key's name in an earlier version, and its present one. The key may have moved to
/// another section.
struct Renamed {
  std::string_view before, now;
};

constexpr Renamed kRenamed[] = {
    {"schedule.kind", "lr_schedule.kind"},
    {"schedule.warmup", "lr_schedule.warmup"},
    {"schedule.horizon", "lr_schedule.total_steps"},
    {"schedule.floor", "lr_schedule.min_lr"},
    {"schedule.power", "lr_schedule.power"},
    {"schedule.decay", "lr_schedule.decay"},
    {"schedule.decay_steps", "lr_schedule.decay_steps"},
};

void add_note(const std::string& where, const std::string& key, std::vector<std::string>& notes) {
  const std::string now = current_name(key);
  if (now != key) notes.push_back(fmt::format("{}: {} is now {}", where, key, now));
}

}  // namespace

// Settings have their present names here, whichever name was written.
std::set<std::string> named_keys(const std::filesystem::path& file,
                                 std::span<const std::string> overrides) {
  std::vector<std::string> faults;
  std::set<std::string> names;
  for (const Setting& setting : settings_of(file, overrides, faults)) names.insert(setting.key);
  return names;
}

std::string current_name(std::string_view key) {
  const auto found = std::ranges::find(kRenamed, key, &Renamed::before);
  return std::string(found == std::end(kRenamed) ? key : found->now);
}

std::vector<std::string> renaming_notes(const std::filesystem::path& file,
                                        std::span<const std::string> overrides) {
  std::vector<std::string> faults, notes;
  for (const Setting& setting : settings_of(file, overrides, faults))
    add_note(setting.where, setting.written, notes);
  return notes;
}

std::vector<std::string> renaming_notes(const FlatConfig& config, const std::string& where) {
  std::vector<std::string> notes;
  for (const auto& [key, value] : config) add_note(where, key, notes);
  return notes;
}

}  // namespace penstock::configs
