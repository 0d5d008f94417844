#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/faults.h"

namespace penstock::runtime {

/// One utterance of a manifest.
struct ManifestEntry {
  std::filesystem::path audio;  // absolute, or relative to the working folder
  std::string text;
  std::optional<double> duration;  // seconds, positive; a hint: lengths come from the audio
  std::string where;               // "train.jsonl:17": for errors
};

enum class ManifestFormat {
  json_lines,       // a line {"audio_filepath", "duration", "text"}, NeMo's; its "offset" must be 0
  deepspeech_json,  // deepspeech.pytorch: {"root_path", "samples": [{"wav_path",
                    // "transcript_path"}]}
  deepspeech_csv,   // its earlier form: lines "wav,txt", both paths
  librispeech,      // a folder with *.trans.txt beside the audio
  common_voice,     // TSV with the columns path and sentence; audio in clips/ beside it
};

/// "JSON lines", "deepspeech.pytorch JSON", …
std::string_view name_of(ManifestFormat);

/// A folder is LibriSpeech, .csv and .tsv say what they are, an object with "samples" is
/// deepspeech.pytorch's; everything else is JSON lines. DataError if there is nothing there.
[[nodiscard]] ManifestFormat manifest_format(const std::filesystem::path& manifest);

/// Utterances in the manifest's order. Relative audio paths are taken from the manifest's folder.
/// What is wrong with single lines goes to `faults`; DataError if the manifest can't be read at
/// all.
[[nodiscard]] std::vector<ManifestEntry> read_manifest(const std::filesystem::path& manifest,
                                                       Faults& faults);

}  // namespace penstock::runtime
