#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/faults.h"

namespace penstock::runtime {

/// One utterance of a manifest.
struct ManifestEntry {
  std::filesystem::path audio;  // absolute, or relative to the working folder; or a TarMember
  std::string text;
  std::optional<double> duration;     // seconds, positive; of a whole recording a hint
  std::string where;                  // "train.jsonl:17": for errors
  std::optional<double> offset = {};  // seconds at which a segment begins; nothing: all is meant
};

enum class ManifestFormat {
  json_lines,       // a line {"audio_filepath", "offset", "duration", "text"}, NeMo's
  deepspeech_json,  // deepspeech.pytorch: {"root_path", "samples": [{"wav_path",
                    // "transcript_path"}]}
  deepspeech_csv,   // its earlier form: lines "wav,txt", both paths
  table,            // CSV or TSV: a recording and its text; a header may name other columns
  common_voice,     // TSV with the columns path and sentence, and client_id or clips/ beside it
  librispeech,      // a folder with *.trans.txt beside the audio
  kaldi,            // a folder with wav.scp, text and, for segments, segments
  ljspeech,         // a folder with metadata.csv and wavs/
  nemo,        // a folder of NeMo's tars, with tarred_audio_manifest.json or manifest_0.json, …
  webdataset,  // a tar, or a folder of tars, with a KEY.txt or KEY.json for each recording
  folder,      // any other: a NAME.txt beside each recording
};

/// "JSON lines", "deepspeech.pytorch JSON", …
std::string_view name_of(ManifestFormat);

/// Folders are told apart by the files in them, tables (.csv, .tsv) by their first line. An object
/// with "samples" is deepspeech.pytorch's; everything else is JSON lines. DataError if there is
/// nothing there, or a folder has none of these files.
[[nodiscard]] ManifestFormat manifest_format(const std::filesystem::path& manifest);

/// Where a manifest's utterances go.
struct ManifestSink {
  std::function<void(ManifestEntry)> add;
  std::vector<std::filesystem::path> sources = {};  // files and folders that were looked at
};

/// Gives the utterances in the manifest's order, none of which is kept. Relative audio paths are
/// taken from the manifest's folder. "TAR:NAME" is a member of a tar, whose place is looked up: see
/// TarMember. What is wrong with single lines goes to `faults`; DataError if
/// the manifest can't be read at all.
void read_manifest(const std::filesystem::path& manifest, ManifestSink& sink, Faults& faults);

/// All of them at once.
[[nodiscard]] std::vector<ManifestEntry> read_manifest(const std::filesystem::path& manifest,
                                                       Faults& faults);

}  // namespace penstock::runtime
