#include "tools/reports/data_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "base/table.h"
#include "base/wrap.h"
#include "runtime/data/manifest/faults.h"
#include "tools/cli/terminal.h"

namespace penstock::tools {
namespace {

constexpr std::int64_t histogram_width = 40;

/// Draws a row for each whole second with utterances. The longest bar has histogram_width marks,
/// and any other at least one.
std::string histogram_text(const std::vector<std::int64_t>& histogram) {
  const std::int64_t max = *std::ranges::max_element(histogram);
  std::vector<std::vector<std::string>> rows = {{"seconds", "utterances", ""}};
  for (std::size_t i = 0; i < histogram.size(); ++i) {
    if (histogram[i] == 0) continue;
    rows.push_back(
        {fmt::format("{}–{}", i, i + 1), fmt::format("{}", histogram[i]),
         std::string(std::max<std::int64_t>(1, histogram_width * histogram[i] / max), '#')});
  }
  return table_text(rows, output_columns());
}

/// Returns characters with the number of times that they occur, such as "space 812, a 501".
std::string characters_text(const std::map<std::string, std::int64_t>& characters) {
  std::string text;
  for (const auto& [character, times] : characters) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", character == " " ? "space" : character,
                        times);
  }
  return text;
}

/// Lists all faults, where texts for people list the first few only.
nlohmann::ordered_json faults_json(const runtime::Faults& faults) {
  auto list = nlohmann::ordered_json::array();
  for (const runtime::Fault& fault : faults.all())
    list.push_back({{"where", fault.where}, {"what", fault.what}});
  return list;
}

/// Formats recordings and texts in common, each with their places in the test set.
std::string leaks_text(const runtime::Leaks& leaks) {
  const auto shared = [&](const char* what, const runtime::Faults& found) {
    return fmt::format("\n\nshared {}: {} of the test set's {}{}", what, found.size(),
                       counted(leaks.utterances, "utterance"), found.listed());
  };
  return shared("recordings", leaks.recordings) + shared("texts", leaks.texts);
}

/// Returns the hours of all utterances of an index.
double hours(const runtime::UtteranceIndex& index) {
  double seconds = 0;
  for (std::size_t u = 0; u < index.size(); ++u) seconds += index.length(u).seconds();
  return seconds / 3600;
}

runtime::Faults faults_of(const runtime::UtteranceIndex& index) {
  runtime::Faults faults;
  for (const runtime::IndexFault& fault : index.faults()) faults.add(fault.where, fault.what);
  return faults;
}

}  // namespace

// Parts without content are left out, so a manifest without faults has a short report. A count of 0
// in JSON stays, for programs.
std::string summary_text(const runtime::ManifestSummary& s, const runtime::Leaks* leaks) {
  std::string text = fmt::format("{}: {}, {:.3f} hours", s.format,
                                 counted(s.utterances, "utterance"), s.seconds / 3600);
  if (s.utterances > 0) {
    text += fmt::format(", from {:.3f} to {:.3f} seconds", s.shortest, s.longest);
    for (const auto& [rate, utterances] : s.rates)
      text += fmt::format("\n{} at {} Hz", counted(utterances, "utterance"), rate);
    text += fmt::format(
        "\n\n{}\n{}", histogram_text(s.histogram),
        wrapped(fmt::format("characters: {}", characters_text(s.characters)), output_columns()));
  }
  if (!s.without_text.empty())
    text += fmt::format("\n\n{} without text:{}", counted(s.without_text.size(), "utterance"),
                        s.without_text.listed());
  if (!s.inexact.empty())
    text += fmt::format("\n\n{}:\n{}", counted(s.inexact.size(), "inexact duration"),
                        s.inexact.listed());
  if (!s.rejected.empty())
    text += fmt::format("\n\n{}:\n{}", counted(s.rejected.size(), "rejected utterance"),
                        s.rejected.listed());
  if (leaks != nullptr) text += leaks_text(*leaks);
  return text.ends_with('\n') ? text : text + '\n';
}

std::string summary_json(const std::string& manifest, const runtime::ManifestSummary& s,
                         const runtime::Leaks* leaks) {
  nlohmann::ordered_json report = {{"manifest", manifest},       {"format", s.format},
                                   {"utterances", s.utterances}, {"hours", s.seconds / 3600},
                                   {"seconds", s.seconds},       {"shortest", s.shortest},
                                   {"longest", s.longest},       {"histogram", s.histogram}};
  report["rates"] = nlohmann::ordered_json::object();
  for (const auto& [rate, utterances] : s.rates)
    report["rates"][fmt::format("{}", rate)] = utterances;
  report["characters"] = s.characters;
  report["inexact"] = faults_json(s.inexact);
  report["rejected"] = faults_json(s.rejected);
  if (leaks != nullptr)
    report["leaks"] = {{"utterances", leaks->utterances},
                       {"recordings", faults_json(leaks->recordings)},
                       {"texts", faults_json(leaks->texts)}};
  return json_line(report);
}

std::string index_text(const runtime::FoundIndex& found) {
  const runtime::UtteranceIndex& index = found.index;
  std::string text = fmt::format("{}: {}, {:.3f} hours, of {}\n", found.file.string(),
                                 counted(std::ssize(index), "utterance"), hours(index),
                                 counted(std::ssize(index.recordings()), "recording"));
  if (const runtime::Faults faults = faults_of(index); !faults.empty())
    text +=
        fmt::format("\n{}:\n{}\n", counted(faults.size(), "rejected utterance"), faults.listed());
  return text;
}

std::string index_json(const std::string& manifest, const runtime::FoundIndex& found) {
  nlohmann::ordered_json report = {{"manifest", manifest},
                                   {"index", found.file.string()},
                                   {"utterances", found.index.size()},
                                   {"recordings", found.index.recordings().size()},
                                   {"hours", hours(found.index)},
                                   {"rejected", nlohmann::ordered_json::array()}};
  for (const runtime::IndexFault& fault : found.index.faults())
    report["rejected"].push_back({{"where", fault.where}, {"what", fault.what}});
  return json_line(report);
}

}  // namespace penstock::tools
