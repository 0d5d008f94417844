#include "runtime/huggingface/suppressed_tokens.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/fault.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/huggingface/language_prompt.h"

// Two lists name rows of the head that generate() of transformers chooses never, or not first. They
// are settings of generation_config.json. A folder without that file has them in config.json, where
// they may be missing and have the class's defaults.
//
// Lists of published models name special tokens and others that are no speech, such as brackets. A
// model of fewer rows may keep the list of a larger one: transformers passes over rows that it
// lacks.

namespace penstock::runtime {
namespace {

constexpr std::string_view kSuppress = "suppress_tokens", kBegin = "begin_suppress_tokens";

/// Returns the labels of the rows that a list names, without those beyond the head.
std::vector<int> labels_of(std::string_view name, std::string_view list, const LabelRows& head,
                           const std::filesystem::path& file) {
  std::vector<int> labels;
  if (list == "null") return labels;
  const auto refuse = [&](std::string_view value) {
    throw_fault(file,
                fmt::format("{} has {}, but it must be a list of rows, or null", name, value));
  };
  if (!list.starts_with('[')) refuse(list);
  for (const std::string& item : items_of_json_list(list)) {
    std::int64_t row = -1;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), row);
    if (error != std::errc() || end != item.data() + item.size() || row < 0) refuse(item);
    if (row < head.rows) labels.push_back(label_of_row(static_cast<int>(row), head.blank));
  }
  return labels;
}

std::string rows_of(const std::vector<int>& labels, const LabelRows& head) {
  std::vector<std::int64_t> rows;
  for (const int label : labels)
    rows.push_back(label == 0 ? head.blank : label <= head.blank ? label - 1 : label);
  return fmt::format("[{}]", fmt::join(rows, ","));
}

std::string_view value_or(const Settings& settings, std::string_view name,
                          std::string_view absent) {
  const auto found = settings.find(name);
  return found == settings.end() ? absent : std::string_view(found->second);
}

}  // namespace

void set_suppressed(const Architecture& architecture, const FolderSettings& settings,
                    const LabelRows& head, layers::DecoderOptions& decoder) {
  if (architecture.decoder != "attention") return;
  const std::filesystem::path generation = settings.folder / kGenerationConfig;
  const bool has_own = is_there(generation);
  const Settings from = has_own ? read_settings(generation) : settings.config;
  const std::filesystem::path& file = has_own ? generation : settings.config_file;
  decoder.suppress = labels_of(kSuppress, value_or(from, kSuppress, "null"), head, file);
  decoder.begin_suppress = labels_of(
      kBegin, value_or(from, kBegin, has_own ? "null" : architecture.begin_suppressed), head, file);
}

Settings suppression_settings(const layers::DecoderOptions& decoder, const LabelRows& head) {
  Settings settings;
  if (!decoder.suppress.empty()) settings.emplace(kSuppress, rows_of(decoder.suppress, head));
  if (!decoder.begin_suppress.empty())
    settings.emplace(kBegin, rows_of(decoder.begin_suppress, head));
  return settings;
}

Settings suppression_changes(const layers::DecoderOptions& decoder, const LabelRows& head,
                             const Settings& theirs) {
  Settings changes;
  const auto compare = [&](std::string_view name, const std::vector<int>& labels) {
    if (labels_of(name, value_or(theirs, name, "null"), head, kGenerationConfig) != labels)
      changes.emplace(name, rows_of(labels, head));
  };
  compare(kSuppress, decoder.suppress);
  compare(kBegin, decoder.begin_suppress);
  return changes;
}

}  // namespace penstock::runtime
