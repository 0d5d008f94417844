#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_nesting.h"
#include "runtime/data/manifest/json_line.h"
#include "runtime/data/manifest/line_reader.h"
#include "runtime/data/manifest/manifest.h"
#include "runtime/data/manifest/manifest_formats.h"
#include "runtime/data/manifest/shard_pattern.h"
#include "runtime/data/manifest/tar_member.h"

// A manifest's format is recognised by what is there, without a setting. A folder is recognised by
// the files that name a layout (Kaldi, LJSpeech, MLS, LibriSpeech, NeMo), then by tars, and at last
// by texts beside recordings; the order matters, since the earlier layouts may have the later signs
// too. STM files count only where none of these layouts fits. A table is recognised by its first
// line. What is left is JSON. A path that does not exist may be a pattern of several that do.

namespace penstock::runtime {
namespace {

/// Returns true for the names that Lhotse's recipes give to manifests with texts.
bool has_lhotse_name(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  return has(".jsonl") && (has("_supervisions") || has("_cuts"));
}

/// Returns true if some recording has a text of its name beside it.
bool has_text_beside(const std::vector<std::filesystem::path>& files) {
  std::error_code error;
  return std::ranges::any_of(files, [&](std::filesystem::path file) {
    return is_sound(file) && std::filesystem::exists(file.replace_extension(".txt"), error);
  });
}

ManifestFormat folder_format(const std::filesystem::path& folder, bool needs_texts) {
  std::error_code error;
  if (std::filesystem::exists(folder / "wav.scp", error)) return ManifestFormat::kaldi;
  if (std::filesystem::exists(folder / "metadata.csv", error)) return ManifestFormat::ljspeech;
  if (is_mls_set(folder)) return ManifestFormat::mls;
  bool texts = false, sounds = false, tars = false, stm = false;
  std::string single;  // how to name one of several manifests
  const std::vector<std::filesystem::path> files = files_below(folder);
  for (const auto& file : files) {
    if (file.string().ends_with(".trans.txt")) return ManifestFormat::librispeech;
    if (file.filename() == "transcripts.txt" && is_mls_set(file.parent_path()))
      throw DataError(fmt::format("{}: has several sets of MLS: name one of them, such as {}",
                                  folder.string(), file.parent_path().string()));
    stm = stm || file.extension() == ".stm";
    texts = texts || file.extension() == ".txt";
    sounds = sounds || is_sound(file);
    tars = tars || is_tar_name(file);
    if (has_lhotse_name(file) || file.extension() == ".tsv")
      single = fmt::format(". Of its {}, name a single one, such as {}",
                           file.extension() == ".tsv" ? "tables" : "manifests of Lhotse's",
                           file.string());
  }
  if ((tars || !sounds) && !nemo_manifests(folder).empty()) return ManifestFormat::nemo;
  if (tars && !sounds) return ManifestFormat::webdataset;
  if (stm && !has_text_beside(files)) return ManifestFormat::stm;
  if (texts || (sounds && !needs_texts)) return ManifestFormat::folder;
  throw DataError(
      fmt::format("{}: this folder has no transcripts that are known: *.trans.txt (LibriSpeech), "
                  "wav.scp (Kaldi), metadata.csv (LJSpeech), tarred_audio_manifest.json (NeMo), "
                  "transcripts.txt and audio/ (MLS), *.stm (TED-LIUM), "
                  "tars (WebDataset), or a NAME.txt beside each recording. "
                  "List its recordings in a manifest{}",
                  folder.string(), single));
}

/// Returns true for the first line of Common Voice's tables that have no recordings or no texts:
/// clip_durations.tsv, reported.tsv and those of sentences.
bool is_list_of_clips(const std::vector<std::string>& first) {
  const auto has = [&](const char* name) { return std::ranges::find(first, name) != first.end(); };
  return has("duration[ms]") || (has("sentence_id") && !has("path"));
}

/// Recognises a table's format by its first line. Both columns of deepspeech.pytorch's are paths.
ManifestFormat table_format(const std::filesystem::path& table) {
  const std::vector<std::string> first = first_fields(table);
  const auto has = [&](const char* name) { return std::ranges::find(first, name) != first.end(); };
  std::error_code error;
  if (table.extension() == ".tsv") {
    const bool layout =
        has("client_id") || std::filesystem::is_directory(table.parent_path() / "clips", error);
    if (is_list_of_clips(first))
      throw DataError(
          fmt::format("manifest {}: is no list of recordings and texts. Of Common "
                      "Voice's tables, name train.tsv, dev.tsv, test.tsv, "
                      "validated.tsv or other.tsv",
                      table.string()));
    if (is_fleurs_row(first)) return ManifestFormat::fleurs;
    if (has_voxpopuli_columns(first)) return ManifestFormat::voxpopuli;
    return has("path") && has("sentence") && layout ? ManifestFormat::common_voice
                                                    : ManifestFormat::table;
  }
  const bool paths = first.size() == 2 && (trimmed(first[1]).ends_with(".txt") ||
                                           std::filesystem::is_regular_file(
                                               table.parent_path() / trimmed(first[1]), error) ||
                                           (first[0] == "wav" && first[1] == "txt"));
  return paths ? ManifestFormat::deepspeech_csv : ManifestFormat::table;
}

/// Returns the lines of a file, decompressed. Those of an object over many lines are JSON as well.
std::string lines_in(const std::filesystem::path& file) {
  LineReader reader(file);
  std::string text;
  for (std::string line; reader.next(line);) text += line + '\n';
  return text;
}

/// Returns deepspeech.pytorch's format. Throws DataError if the file is compressed, since its
/// reader takes plain files.
ManifestFormat deepspeech_format(const std::filesystem::path& manifest) {
  if (manifest.extension() != ".gz") return ManifestFormat::deepspeech_json;
  throw DataError(
      fmt::format("manifest {0}: is a compressed JSON of deepspeech.pytorch, which is read "
                  "uncompressed: unpack it, by gunzip -k {0}, and name {1}",
                  manifest.string(), std::filesystem::path(manifest).replace_extension().string()));
}

/// Recognises JSON by its first line, which already distinguishes JSON lines from an object over
/// many lines. So large manifests are not read completely.
ManifestFormat json_format(const std::filesystem::path& manifest) {
  const auto is_deepspeech = [](const nlohmann::json& json) {
    return json.is_object() && json.contains("samples");
  };
  if (gigaspeech_name(manifest)) return ManifestFormat::gigaspeech;
  const std::string line = first_line(manifest);
  if (line.starts_with("session_id|"))
    throw DataError(
        fmt::format("manifest {}: has VoxPopuli's annotations of whole sessions: cut these, by "
                    "python -m voxpopuli.get_asr_data, and name its asr_train.tsv",
                    manifest.string()));
  if (line.starts_with('[') || manifest.string().ends_with(".yaml") ||
      manifest.string().ends_with(".yaml.gz"))
    throw DataError(
        fmt::format("manifest {0}: is {1}, not JSON lines: write one object in each line. A "
                    "manifest of Lhotse's becomes that by lhotse copy {0} NAME.jsonl.gz",
                    manifest.string(), line.starts_with('[') ? "a JSON array" : "YAML"));
  if (json_nests_too_deeply(line)) return ManifestFormat::json_lines;
  const auto first = nlohmann::json::parse(line, nullptr, false);
  if (const auto lhotse = lhotse_format(first)) return *lhotse;
  if (is_peoples_speech(first)) return ManifestFormat::peoples_speech;
  if (first.is_object() && !is_deepspeech(first)) return ManifestFormat::json_lines;
  return is_deepspeech(nlohmann::json::parse(lines_in(manifest), nullptr, false))
             ? deepspeech_format(manifest)
             : ManifestFormat::json_lines;
}

}  // namespace

bool is_present(const std::filesystem::path& manifest) {
  const auto exists = [](const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
  };
  if (exists(manifest) || gigaspeech_name(manifest)) return true;
  return is_shard_pattern(manifest.native()) &&
         std::ranges::all_of(expand_shards(manifest.native()), exists);
}

ManifestFormat manifest_format(const std::filesystem::path& manifest, bool texts) {
  std::error_code error;
  if (!std::filesystem::exists(manifest, error)) {
    if (gigaspeech_name(manifest)) return ManifestFormat::gigaspeech;
    if (is_shard_pattern(manifest.native())) return ManifestFormat::shards;
    throw DataError(fmt::format("manifest {}: no such file or folder", manifest.string()));
  }
  if (std::filesystem::is_directory(manifest)) return folder_format(manifest, texts);
  if (is_tar_name(manifest)) return ManifestFormat::webdataset;
  if (manifest.extension() == ".stm")
    throw DataError(fmt::format("manifest {}: is one recording's STM: name the folder of its set",
                                manifest.string()));
  if (manifest.extension() == ".csv" || manifest.extension() == ".tsv")
    return table_format(manifest);
  return json_format(manifest);
}

}  // namespace penstock::runtime
