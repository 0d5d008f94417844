#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_nesting.h"
#include "runtime/data/audio/audio_file.h"
#include "runtime/data/manifest/excerpt.h"
#include "runtime/data/manifest/foreign_file.h"
#include "runtime/data/manifest/json_line.h"
#include "runtime/data/manifest/line_reader.h"
#include "runtime/data/manifest/manifest.h"
#include "runtime/data/manifest/manifest_formats.h"
#include "runtime/data/manifest/missing_manifest.h"
#include "runtime/data/manifest/shard_pattern.h"
#include "runtime/data/manifest/tar_member.h"
#include "runtime/data/manifest/unknown_folder.h"

// A manifest's format is recognised by what is there, without a setting. A folder is recognised by
// the files that name a layout (Kaldi, LJSpeech, MLS, LibriSpeech, NeMo), then by tars, and at last
// by texts beside recordings; the order matters, since the earlier layouts may have the later signs
// too. STM files count only where none of these layouts fits. A table is recognised by its first
// line. What is left is JSON. A path that does not exist may be a pattern of several that do.

namespace penstock::runtime {
namespace {

/// Returns true if some recording has a text of its name beside it.
bool has_text_beside(const std::vector<std::filesystem::path>& files) {
  std::error_code error;
  return std::ranges::any_of(files, [&](std::filesystem::path file) {
    return is_sound(file) && std::filesystem::exists(file.replace_extension(".txt"), error);
  });
}

/// Refuses a metadata.csv of commas, as Hugging Face's AudioFolder has it. LJSpeech has bars.
void require_ljspeech(const std::filesystem::path& table) {
  const std::string line = first_line(table);
  if (line.find('|') != std::string::npos || line.find(',') == std::string::npos) return;
  throw DataError(fmt::format("{0}: has a table, not LJSpeech's name|text: name the table, {1}",
                              table.parent_path().string(), table.string()));
}

ManifestFormat folder_format(const std::filesystem::path& folder, bool needs_texts) {
  std::error_code error;
  if (std::filesystem::exists(folder / "wav.scp", error)) return ManifestFormat::kaldi;
  if (const auto table = folder / "metadata.csv"; std::filesystem::exists(table, error)) {
    require_ljspeech(table);
    return ManifestFormat::ljspeech;
  }
  if (is_mls_set(folder)) return ManifestFormat::mls;
  bool texts = false, sounds = false, tars = false, stm = false;
  const std::vector<std::filesystem::path> files = files_below(folder);
  for (const auto& file : files) {
    if (file.string().ends_with(".trans.txt")) return ManifestFormat::librispeech;
    if (file.filename() == "transcripts.txt" && is_mls_set(file.parent_path()))
      throw DataError(fmt::format("{}: has several sets of MLS: name one of them, such as {}",
                                  folder.string(), file.parent_path().string()));
    stm = stm || file.extension() == ".stm";
    texts = texts || file.extension() == ".txt";
    sounds = sounds || is_sound(file);
    tars = tars || file.extension() == ".tar";
  }
  if ((tars || !sounds) && !nemo_manifests(folder).empty()) return ManifestFormat::nemo;
  if (tars && !sounds) return ManifestFormat::webdataset;
  if (stm && !has_text_beside(files)) return ManifestFormat::stm;
  if (sounds && (texts || !needs_texts)) return ManifestFormat::folder;
  refuse_folder(folder, files);
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
  if (first[0].starts_with("session_id|"))
    throw DataError(
        fmt::format("manifest {}: has VoxPopuli's annotations of whole sessions: cut these, by "
                    "python -m voxpopuli.get_asr_data, and name its asr_train.tsv",
                    table.string()));
  if (is_tsv(table)) {
    const bool layout =
        has("client_id") || std::filesystem::is_directory(table.parent_path() / "clips", error);
    const bool clips = has("path") && has("sentence") && layout;
    const bool rejected = clips && table.filename().string().starts_with("invalidated.tsv");
    if (is_list_of_clips(first) || rejected)
      throw DataError(fmt::format(
          "manifest {}: {}. Of Common Voice's tables, name train.tsv, dev.tsv, test.tsv, "
          "validated.tsv or other.tsv",
          table.string(),
          rejected ? "has recordings that listeners rejected"
                   : "is no list of recordings and texts"));
    if (is_fleurs_row(first)) return ManifestFormat::fleurs;
    if (has_voxpopuli_columns(first)) return ManifestFormat::voxpopuli;
    return clips ? ManifestFormat::common_voice : ManifestFormat::table;
  }
  const bool paths =
      first.size() == 2 && !is_sound(trimmed(first[1])) &&
      (trimmed(first[1]).ends_with(".txt") ||
       std::filesystem::is_regular_file(table.parent_path() / trimmed(first[1]), error) ||
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

/// Returns deepspeech.pytorch's format. Throws DataError if the file is compressed under any name,
/// since its reader takes plain files.
ManifestFormat deepspeech_format(const std::filesystem::path& manifest) {
  constexpr std::string_view kGzip = "\x1f\x8b";
  if (FileRange(manifest).read(0, kGzip.size()) != kGzip) return ManifestFormat::deepspeech_json;
  throw DataError(
      fmt::format("manifest {0}: is a compressed JSON of deepspeech.pytorch, which is read "
                  "uncompressed: unpack it, by gzip -dc < {0} > NAME.json, and name that",
                  manifest.string()));
}

/// Refuses a compressed tar: members are read in any order. Most are a corpus to unpack.
ManifestFormat tar_format(const std::filesystem::path& tar) {
  if (tar.extension() == ".tar") return ManifestFormat::webdataset;
  const std::string foreign = describe_foreign(tar, FileRange(tar).read(0, kForeignHead));
  if (!foreign.empty()) throw DataError(fmt::format("manifest {}: {}", tar.string(), foreign));
  throw DataError(
      fmt::format("manifest {0}: is a compressed archive: unpack it, by tar -xf {0}, and name the "
                  "folder or the table that it holds. Of a shard of WebDataset's, undo the "
                  "compression alone, by gzip -d or the like",
                  tar.string()));
}

/// Describes the folder that a part of a corpus was named for; "" if the file is no such part.
std::string describe_whole(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code error;
  const bool kaldi = std::filesystem::exists(folder / "wav.scp", error) &&
                     (name == "wav.scp" || name == "text" || name == "segments");
  if (kaldi || name.ends_with(".trans.txt") || (name == "transcripts.txt" && is_mls_set(folder)))
    return fmt::format("is one file of a corpus: name its folder, {}", folder.string());
  return {};
}

/// Returns true for a line that begins a JSON object.
bool begins_object(const std::string& line) { return trimmed(line).starts_with('{'); }

/// Refuses a file whose first two lines begin no JSON object. A single bad line is a fault of its
/// own, and the lines after it may be good.
void require_json(const std::filesystem::path& manifest, const std::string& line) {
  if (line.empty() || begins_object(line) || begins_object(second_line(manifest))) return;
  const std::string whole = describe_whole(manifest);
  if (!whole.empty()) throw DataError(fmt::format("manifest {}: {}", manifest.string(), whole));
  throw DataError(
      fmt::format("manifest {}: begins with \"{}\", but lines of JSON begin with {{: a table is "
                  "named .csv or .tsv, and a folder by its own name",
                  manifest.string(), excerpt(line)));
}

/// Refuses JSON over several lines. Tools write an object of each utterance so for readers' eyes.
[[noreturn]] void refuse_layout(const std::filesystem::path& manifest) {
  throw DataError(fmt::format(
      "manifest {0}: its first line is no whole JSON object: write each utterance in one line, by "
      "jq -c . {0} > NAME.jsonl",
      manifest.string()));
}

/// Refuses forms of JSON and YAML that are not one object in each line.
void require_lines(const std::filesystem::path& manifest, const std::string& line) {
  const bool array =
      line.starts_with('[') && (trimmed(line) == "[" || begins_object(line.substr(1)));
  if (array || manifest.string().ends_with(".yaml") || manifest.string().ends_with(".yaml.gz"))
    throw DataError(fmt::format(
        "manifest {0}: is {1}, not JSON lines: write one object in each line{2}. A "
        "manifest of Lhotse's becomes that by lhotse copy {0} NAME.jsonl.gz",
        manifest.string(), array ? "a JSON array" : "YAML",
        array ? fmt::format(", by jq -c '.[]' {} > NAME.jsonl", manifest.string()) : ""));
  require_json(manifest, line);
}

/// Recognises JSON by its first line, which already distinguishes JSON lines from an object over
/// many lines. So large manifests are not read completely.
ManifestFormat json_format(const std::filesystem::path& manifest) {
  const auto is_deepspeech = [](const nlohmann::json& json) {
    return json.is_object() && json.contains("samples");
  };
  if (gigaspeech_name(manifest)) return ManifestFormat::gigaspeech;
  const std::string line = first_line(manifest);
  require_lines(manifest, line);
  if (line.empty() || json_nests_too_deeply(line)) return ManifestFormat::json_lines;
  const auto first = nlohmann::json::parse(line, nullptr, false);
  if (const auto lhotse = lhotse_format(first)) return *lhotse;
  if (is_peoples_speech(first)) return ManifestFormat::peoples_speech;
  if (first.is_object() && !is_deepspeech(first)) return ManifestFormat::json_lines;
  if (is_deepspeech(nlohmann::json::parse(lines_in(manifest), nullptr, false)))
    return deepspeech_format(manifest);
  if (trimmed(line) == "{" && !begins_object(second_line(manifest))) refuse_layout(manifest);
  return ManifestFormat::json_lines;
}

}  // namespace

bool is_present(const std::filesystem::path& manifest) {
  if (exists_at(manifest) || gigaspeech_name(manifest)) return true;
  return is_shard_pattern(manifest.native()) &&
         std::ranges::all_of(expand_shards(manifest.native()), exists_at);
}

ManifestFormat manifest_format(const std::filesystem::path& manifest, bool texts) {
  std::error_code error;
  if (!std::filesystem::exists(manifest, error)) {
    if (gigaspeech_name(manifest)) return ManifestFormat::gigaspeech;
    if (is_shard_pattern(manifest.native())) return ManifestFormat::shards;
    throw DataError(
        fmt::format("manifest {}: {}", manifest.string(), describe_missing_manifest(manifest)));
  }
  if (std::filesystem::is_directory(manifest)) return folder_format(manifest, texts);
  if (is_tar_name(manifest)) return tar_format(manifest);
  if (manifest.extension() == ".stm")
    throw DataError(fmt::format("manifest {}: is one recording's STM: name the folder of its set",
                                manifest.string()));
  if (is_table_name(manifest)) return table_format(manifest);
  return json_format(manifest);
}

}  // namespace penstock::runtime
