#include "runtime/data/manifest/manifest.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/json_nesting.h"
#include "base/quantities.h"
#include "runtime/data/manifest/line_reader.h"
#include "runtime/data/manifest/manifest_formats.h"
#include "runtime/data/manifest/shard_pattern.h"
#include "runtime/data/manifest/tar_member.h"
#include "runtime/data/remote/remote_url.h"

// A manifest's format is recognised by what is there, without a setting. A folder is recognised by
// the files that name a layout (Kaldi, LJSpeech, LibriSpeech, NeMo), then by tars, and at last by
// texts beside recordings; the order matters, since the earlier layouts may have the later signs
// too. A table is recognised by its first line. What is left is JSON. A path that does not exist
// may be a pattern of several that do.
//
// Readers of all formats pass one entry at a time to the same sink, so memory does not grow with
// the manifest. A fault of one line is noted and the next line is read.

namespace penstock::runtime {
namespace {

/// Returns true for the names that Lhotse's recipes give to manifests with texts.
bool is_of_lhotse(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  return has(".jsonl") && (has("_supervisions") || has("_cuts"));
}

ManifestFormat folder_format(const std::filesystem::path& folder, bool needs_texts) {
  std::error_code error;
  if (std::filesystem::exists(folder / "wav.scp", error)) return ManifestFormat::kaldi;
  if (std::filesystem::exists(folder / "metadata.csv", error)) return ManifestFormat::ljspeech;
  bool texts = false, sounds = false, tars = false;
  std::string lhotse;
  for (const auto& file : files_below(folder)) {
    if (file.string().ends_with(".trans.txt")) return ManifestFormat::librispeech;
    texts = texts || file.extension() == ".txt";
    sounds = sounds || is_sound(file);
    tars = tars || is_tar_name(file);
    if (is_of_lhotse(file))
      lhotse = ". Of Lhotse's manifests, name a single one, such as " + file.string();
  }
  if ((tars || !sounds) && !nemo_manifests(folder).empty()) return ManifestFormat::nemo;
  if (tars && !sounds) return ManifestFormat::webdataset;
  if (texts || (sounds && !needs_texts)) return ManifestFormat::folder;
  throw DataError(
      fmt::format("{}: this folder has no transcripts that are known: *.trans.txt (LibriSpeech), "
                  "wav.scp (Kaldi), metadata.csv (LJSpeech), tarred_audio_manifest.json (NeMo), "
                  "tars (WebDataset), or a NAME.txt beside each recording. "
                  "List its recordings in a manifest{}",
                  folder.string(), lhotse));
}

/// Recognises a table's format by its first line. Both columns of deepspeech.pytorch's are paths.
ManifestFormat table_format(const std::filesystem::path& table) {
  const std::vector<std::string> first = first_fields(table);
  const auto has = [&](const char* name) { return std::ranges::find(first, name) != first.end(); };
  std::error_code error;
  if (table.extension() == ".tsv") {
    const bool layout =
        has("client_id") || std::filesystem::is_directory(table.parent_path() / "clips", error);
    return has("path") && has("sentence") && layout ? ManifestFormat::common_voice
                                                    : ManifestFormat::table;
  }
  const bool paths = first.size() == 2 && (trimmed(first[1]).ends_with(".txt") ||
                                           std::filesystem::is_regular_file(
                                               table.parent_path() / trimmed(first[1]), error) ||
                                           (first[0] == "wav" && first[1] == "txt"));
  return paths ? ManifestFormat::deepspeech_csv : ManifestFormat::table;
}

std::string whole_text(const std::filesystem::path& file) try {
  return read_file(file);
} catch (const FileError& error) {
  throw DataError(error.what());
}

/// Recognises JSON by its first line, which already distinguishes JSON lines from an object over
/// many lines. So large manifests are not read completely.
ManifestFormat json_format(const std::filesystem::path& manifest) {
  const auto is_deepspeech = [](const nlohmann::json& json) {
    return json.is_object() && json.contains("samples");
  };
  const std::string line = first_line(manifest);
  if (line.starts_with('[') || manifest.string().ends_with(".yaml") ||
      manifest.string().ends_with(".yaml.gz"))
    throw DataError(
        fmt::format("manifest {0}: is {1}, not JSON lines: write one object in each line. A "
                    "manifest of Lhotse's becomes that by lhotse copy {0} NAME.jsonl.gz",
                    manifest.string(), line.starts_with('[') ? "a JSON array" : "YAML"));
  if (json_nests_too_deeply(line)) return ManifestFormat::json_lines;
  const auto first = nlohmann::json::parse(line, nullptr, false);
  if (const auto lhotse = lhotse_format(first)) return *lhotse;
  if (first.is_object() && !is_deepspeech(first)) return ManifestFormat::json_lines;
  return is_deepspeech(nlohmann::json::parse(whole_text(manifest), nullptr, false))
             ? ManifestFormat::deepspeech_json
             : ManifestFormat::json_lines;
}

/// Replaces "TAR:NAME" by the member that it names.
void find_member(ManifestEntry& entry, TarListings& tars) {
  if (tar_member(entry.audio.native())) return;
  if (const auto member = split_member(entry.audio.native()))
    entry.audio = tars.get(member->first, member->second);
}

}  // namespace

std::string_view name_of(ManifestFormat format) {
  switch (format) {
    case ManifestFormat::json_lines:
      return "JSON lines";
    case ManifestFormat::deepspeech_json:
      return "deepspeech.pytorch JSON";
    case ManifestFormat::deepspeech_csv:
      return "deepspeech.pytorch CSV";
    case ManifestFormat::table:
      return "table of recordings and texts";
    case ManifestFormat::common_voice:
      return "Common Voice TSV";
    case ManifestFormat::librispeech:
      return "LibriSpeech folder";
    case ManifestFormat::kaldi:
      return "Kaldi folder";
    case ManifestFormat::ljspeech:
      return "LJSpeech folder";
    case ManifestFormat::nemo:
      return "NeMo folder of tars";
    case ManifestFormat::webdataset:
      return "WebDataset tars";
    case ManifestFormat::folder:
      return "folder of recordings and texts";
    case ManifestFormat::lhotse_cuts:
      return "Lhotse cuts";
    case ManifestFormat::lhotse_supervisions:
      return "Lhotse supervisions";
    case ManifestFormat::lhotse_recordings:
      return "Lhotse recordings";
    case ManifestFormat::shards:
      return "shards";
  }
  return "";
}

ManifestFormat manifest_format(const std::filesystem::path& manifest, bool texts) {
  std::error_code error;
  if (!std::filesystem::exists(manifest, error)) {
    if (is_shard_pattern(manifest.native())) return ManifestFormat::shards;
    throw DataError(fmt::format("manifest {}: no such file or folder", manifest.string()));
  }
  if (std::filesystem::is_directory(manifest)) return folder_format(manifest, texts);
  if (is_tar_name(manifest)) return ManifestFormat::webdataset;
  if (manifest.extension() == ".csv" || manifest.extension() == ".tsv")
    return table_format(manifest);
  return json_format(manifest);
}

void read_by_format(const ManifestReading& reading) {
  switch (manifest_format(reading.manifest, reading.texts)) {
    case ManifestFormat::json_lines:
      read_json_lines(reading);
      break;
    case ManifestFormat::deepspeech_json:
      read_deepspeech_json(reading);
      break;
    case ManifestFormat::deepspeech_csv:
      read_deepspeech_csv(reading);
      break;
    case ManifestFormat::table:
      read_table(reading);
      break;
    case ManifestFormat::common_voice:
      read_common_voice(reading);
      break;
    case ManifestFormat::librispeech:
      read_librispeech(reading);
      break;
    case ManifestFormat::kaldi:
      read_kaldi(reading);
      break;
    case ManifestFormat::ljspeech:
      read_ljspeech(reading);
      break;
    case ManifestFormat::nemo:
      read_nemo(reading);
      break;
    case ManifestFormat::webdataset:
      read_webdataset(reading);
      break;
    case ManifestFormat::folder:
      read_folder(reading);
      break;
    case ManifestFormat::lhotse_cuts:
      read_lhotse_cuts(reading);
      break;
    case ManifestFormat::lhotse_supervisions:
      read_lhotse_supervisions(reading);
      break;
    case ManifestFormat::lhotse_recordings:
      read_lhotse_recordings(reading);
      break;
    case ManifestFormat::shards:
      read_shards(reading);
      break;
  }
}

void read_manifest(const std::filesystem::path& manifest, ManifestSink& sink, Faults& faults) {
  TarListings tars(sink.sources, sink.files);
  ManifestReading reading{manifest, {},           faults,     sink.sources,
                          tars,     sink.skipped, sink.files, sink.texts};
  reading.add = [&](ManifestEntry entry) {
    try {
      entry.audio = reading.located(entry.audio);
      find_member(entry, tars);
    } catch (const DataError& error) {
      return faults.add(entry.where, error.what());
    }
    sink.add(std::move(entry));
  };
  read_by_format(reading);
  if (sink.skipped > 0)
    spdlog::info("{}: left out {} with _skipme", manifest.string(),
                 counted(static_cast<std::int64_t>(sink.skipped), "line"));
  if (sink.files == nullptr || !sink.files->holds(manifest)) return;
  // The mirror's folders change with each download, so the list of objects stands for them.
  std::error_code error;
  const auto is_folder = [&](const auto& source) {
    return std::filesystem::is_directory(source, error);
  };
  if (std::erase_if(sink.sources, is_folder) > 0)
    sink.sources.push_back(sink.files->listing(manifest));
}

std::vector<ManifestEntry> read_manifest(const std::filesystem::path& manifest, Faults& faults,
                                         RemoteFiles* files) {
  std::vector<ManifestEntry> entries;
  ManifestSink sink{[&](ManifestEntry entry) { entries.push_back(std::move(entry)); }, {}, files};
  read_manifest(manifest, sink, faults);
  return entries;
}

std::vector<ManifestEntry> read_named(const std::string& name, Faults& faults) {
  const auto files = remote_files();
  const LocalFile manifest = files->open_manifest(name);
  return read_manifest(manifest.path, faults, files.get());
}

ManifestReading ManifestReading::with(const std::filesystem::path& part) const {
  ManifestReading reading = *this;
  reading.manifest = part;
  return reading;
}

std::string ManifestReading::at_line(std::size_t line) const {
  return fmt::format("{}:{}", manifest.filename().string(), line);
}

std::filesystem::path ManifestReading::located(const std::filesystem::path& file) const {
  if (files != nullptr) return files->located(manifest, file);
  const std::string_view url = url_within(file.native());
  if (!url.empty()) throw DataError(fmt::format("names {}, but URLs are not read here", url));
  return file;
}

LocalFile ManifestReading::open(const std::filesystem::path& file) const {
  return open_by(files, located(file));
}

std::string read_text(const ManifestReading& reading, const std::filesystem::path& file) {
  const LocalFile local = reading.open(file);
  return whole_text(local.path);
}

namespace {

/// Calls `use` for every line that isn't blank until it returns false.
template <class Use>
void read_lines(const std::filesystem::path& file, Use use) {
  LineReader lines(file);
  std::string line;
  for (std::size_t number = 1; lines.next(line); ++number) {
    if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") != std::string::npos && !use(line, number)) return;
  }
}

}  // namespace

void for_each_line(const ManifestReading& reading, const std::filesystem::path& file,
                   const std::function<void(const std::string&, std::size_t)>& use) {
  const LocalFile local = reading.open(file);
  read_lines(local.path, [&](const std::string& line, std::size_t number) {
    use(line, number);
    return true;
  });
}

std::string first_line(const std::filesystem::path& file) {
  std::string first;
  read_lines(file, [&](const std::string& line, std::size_t) {
    first = line;
    return false;
  });
  return first;
}

std::vector<std::string> split(std::string_view line, char separator) {
  std::vector<std::string> fields;
  for (std::size_t start = 0; start <= line.size();) {
    const std::size_t end = std::min(line.find(separator, start), line.size());
    fields.emplace_back(line.substr(start, end - start));
    start = end + 1;
  }
  return fields;
}

std::string trimmed(const std::string& text) {
  constexpr const char* kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace penstock::runtime
