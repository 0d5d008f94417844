#include "tools/reports/index_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "runtime/data/manifest/faults.h"
#include "tools/cli/json_line.h"

namespace penstock::tools {
namespace {

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
