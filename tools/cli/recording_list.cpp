#include "tools/cli/recording_list.h"

#include <fmt/format.h>

#include <istream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json_nesting.h"
#include "runtime/data/index/stream_hash.h"

namespace penstock::tools {
namespace {

/// Returns a number of seconds, or nothing if it is missing or null. DataError quotes any other
/// value.
std::optional<double> seconds_in(const nlohmann::json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || found->is_null()) return std::nullopt;
  if (!found->is_number() || !(found->get<double>() >= 0))
    throw DataError(fmt::format("its {} {} is no number of seconds", key, found->dump()));
  return found->get<double>();
}

/// Returns the recording of a manifest's line; paths start from the manifest's folder. DataError if
/// the line names none.
runtime::Recording recording_in(const std::string& text, const std::filesystem::path& manifest,
                                const runtime::RemoteFiles& files) {
  if (json_nests_too_deeply(text))
    throw DataError(fmt::format("nests deeper than {}", kDeepestNesting));
  const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
  if (!line.is_object()) throw DataError("is not a JSON object");
  const auto path = line.find("audio_filepath");
  if (path == line.end() || !path->is_string() || path->get_ref<const std::string&>().empty())
    throw DataError("has no \"audio_filepath\"");
  const auto file = files.located(manifest, manifest.parent_path() / path->get<std::string>());
  runtime::Recording recording{files.name(file)};
  if (const auto offset = seconds_in(line, "offset"))
    recording.segment = runtime::Segment{*offset, seconds_in(line, "duration")};
  return recording;
}

/// Removes the carriage return of lines that were written on Windows.
void strip_line_end(std::string& line) {
  if (line.ends_with('\r')) line.pop_back();
}

}  // namespace

// Each source is empty for good once it has returned nothing, so the order of sources is the order
// of recordings.
std::optional<runtime::Recording> RecordingList::next() {
  if (recording_ < sources_.recordings.size())
    return runtime::Recording{sources_.recordings[recording_++]};
  if (auto of_manifest = next_line()) return of_manifest;
  return next_path();
}

// A manifest that can't be read ends the command, as its name was likely misspelt. A line that is
// no recording only costs that line: it becomes a recording with a fault.
std::optional<runtime::Recording> RecordingList::next_line() {
  for (std::string text;;) {
    if (!file_.is_open() || !std::getline(file_, text)) {
      if (manifest_ == sources_.manifests.size()) return std::nullopt;
      const std::string& name = sources_.manifests[manifest_++];
      local_.emplace(files_->open_manifest(name));
      file_ = std::ifstream(local_->path);
      if (!file_ || file_.peek() == std::ifstream::traits_type::eof())
        throw DataError(fmt::format("--manifest: {} can't be read, or is empty", name));
      line_ = 0;
      continue;
    }
    ++line_;
    strip_line_end(text);
    if (text.find_first_not_of(" \t") == std::string::npos) continue;
    try {
      return recording_in(text, local_->path, *files_);
    } catch (const DataError& error) {
      return runtime::Recording{.fault = fmt::format("{}:{}: {}", sources_.manifests[manifest_ - 1],
                                                     line_, error.what())};
    }
  }
}

std::optional<runtime::Recording> RecordingList::next_path() {
  if (sources_.paths == nullptr) return std::nullopt;
  for (std::string path; std::getline(*sources_.paths, path, sources_.separator);) {
    if (sources_.separator == '\n') strip_line_end(path);
    if (!path.empty()) return runtime::Recording{path};
  }
  return std::nullopt;
}

// A chain needs the last hash only, so a list of any length is compared without being kept.
std::string chained_hash(const std::string& before, const runtime::Recording& recording) {
  std::string own = fmt::format("{}\n{}\n{}", before, recording.audio.string(), recording.fault);
  if (recording.segment)
    own += fmt::format("\n{}\n{}", recording.segment->offset,
                       recording.segment->duration.value_or(-1));
  return fmt::format("{:016x}", runtime::hash_of(own));
}

}  // namespace penstock::tools
