#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/manifest/faults.h"

namespace penstock::runtime {

class RemoteFiles;

/// One utterance of a manifest.
struct ManifestEntry {
  std::filesystem::path audio;  // absolute or relative to the working folder; may be a TarMember
  std::string text;
  std::optional<double> duration;     // seconds, positive; a hint for a whole recording
  std::string where;                  // "train.jsonl:17", for messages
  std::optional<double> offset = {};  // seconds at which a segment begins; none: whole recording
  std::string language = {};          // as the manifest names it; empty: it names none
};

enum class ManifestFormat {
  json_lines,       // NeMo: each line {"audio_filepath", "offset", "duration", "text"}
  deepspeech_json,  // deepspeech.pytorch: {"root_path", "samples": [{"wav_path",
                    // "transcript_path"}]}
  deepspeech_csv,   // its earlier form: each line "wav,txt", both paths
  table,            // CSV or TSV: columns for a recording and its text; a header may name more
  common_voice,     // TSV with columns path and sentence, and client_id or clips/ beside it
  librispeech,      // a folder with *.trans.txt beside the audio
  kaldi,            // a folder with wav.scp, text and, if it has segments, segments
  ljspeech,         // a folder with metadata.csv and wavs/
  nemo,         // a folder of NeMo's tars, with tarred_audio_manifest.json or manifest_0.json, …
  webdataset,   // a tar or a folder of tars, with a KEY.txt or KEY.json for each recording
  folder,       // any other folder: a NAME.txt beside each recording, unless texts are not needed
  lhotse_cuts,  // JSON lines of Lhotse's cuts; a text for each supervision
  lhotse_supervisions,  // JSON lines with recordings of the same name beside them
  lhotse_recordings,    // they have no texts
  mls,                  // a set's folder, with transcripts.txt and audio/
  fleurs,               // a set's TSV of seven columns, without a header
  voxpopuli,            // TSV with columns id and normalized_text, and none of recordings
  peoples_speech,       // JSON lines with "training_data"
  stm,                  // a folder with .stm files and recordings: TED-LIUM
  gigaspeech,           // GigaSpeech.json:M, one of its subsets
  shards,               // several of them: manifest__OP_0..511_CL_.json, see shard_pattern.h
};

/// Returns "JSON lines", "deepspeech.pytorch JSON", ….
std::string_view name_of(ManifestFormat);

/// Recognises a manifest's format. Folders are recognised by the files in them, tables (.csv, .tsv)
/// by their first line. An object with "samples" is deepspeech.pytorch's; everything else is JSON
/// lines. A path that does not exist may be a pattern of several. Throws DataError if it is none,
/// or a folder has none of these files. Without `texts`, recordings are enough.
[[nodiscard]] ManifestFormat manifest_format(const std::filesystem::path& manifest,
                                             bool texts = true);

/// Returns true if a manifest is on this machine: a file or a folder, all files of a pattern, or
/// the file of a subset of GigaSpeech.
[[nodiscard]] bool is_present(const std::filesystem::path& manifest);

/// Receives a manifest's utterances.
struct ManifestSink {
  std::function<void(ManifestEntry)> add;
  std::vector<std::filesystem::path> sources = {};  // files and folders that were read
  RemoteFiles* files = nullptr;                     // opens URLs; null: there must be none
  bool texts = true;        // false: JSON lines and folders of recordings need none, as for noises
  std::size_t skipped = 0;  // lines that NeMo's "_skipme" leaves out
};

/// Passes the utterances to the sink in the manifest's order; keeps none. Relative audio paths
/// start from the manifest's folder, and may be URLs. A manifest of a server names files of
/// that server and URLs alone. "TAR:NAME" is a member of a tar, which is looked up: see
/// TarMember. Problems with single lines go to `faults`. Throws DataError if the manifest can't be
/// read at all.
void read_manifest(const std::filesystem::path& manifest, ManifestSink& sink, Faults& faults);

/// Returns all utterances at once.
[[nodiscard]] std::vector<ManifestEntry> read_manifest(const std::filesystem::path& manifest,
                                                       Faults& faults,
                                                       RemoteFiles* files = nullptr);

/// Returns all utterances of a path or a URL. What is downloaded goes to the user's cache.
[[nodiscard]] std::vector<ManifestEntry> read_named(const std::string& name, Faults& faults);

}  // namespace penstock::runtime
