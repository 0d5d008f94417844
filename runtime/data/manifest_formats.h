#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/manifest.h"
#include "runtime/data/tar_listings.h"

namespace penstock::runtime {

/// What the readers of the single formats share. Each gives its utterances, faults and sources.
struct ManifestReading {
  std::filesystem::path manifest;
  std::function<void(ManifestEntry)> add;
  Faults& faults;
  std::vector<std::filesystem::path>& sources;  // ManifestSink::sources
  TarListings& tars;

  /// "train.jsonl:17"
  std::string at_line(std::size_t line) const;
};

void read_json_lines(const ManifestReading&);
void read_deepspeech_json(const ManifestReading&);
void read_deepspeech_csv(const ManifestReading&);
void read_table(const ManifestReading&);
void read_common_voice(const ManifestReading&);
void read_librispeech(const ManifestReading&);
void read_kaldi(const ManifestReading&);
void read_ljspeech(const ManifestReading&);
void read_folder(const ManifestReading&);
void read_nemo(const ManifestReading&);
void read_webdataset(const ManifestReading&);

/// The manifests of NeMo's that a folder of tarred data holds: that of all shards, or those of
/// single shards in their order. None of another folder.
[[nodiscard]] std::vector<std::filesystem::path> nemo_manifests(
    const std::filesystem::path& folder);

/// Whether a file is called as recordings are.
[[nodiscard]] bool is_sound(const std::filesystem::path& file);

/// All below the folder, in the order of their paths; `folders` gets it and those in it. DataError
/// if a folder can't be read.
[[nodiscard]] std::vector<std::filesystem::path> files_below(
    const std::filesystem::path& folder, std::vector<std::filesystem::path>* folders = nullptr);
/// All below the manifest, a folder.
[[nodiscard]] std::vector<std::filesystem::path> files_below(const ManifestReading& reading);

/// Appends an utterance whose text stands in a file of its own; lines are joined by spaces.
void add_with_text_file(const ManifestReading&, const std::filesystem::path& audio,
                        const std::filesystem::path& transcript, const std::string& where);

/// A transcript without white space at its ends, its lines joined by spaces.
[[nodiscard]] std::string one_line(const std::string& transcript);

/// The fields of a table's first line that isn't blank; none of an empty one.
[[nodiscard]] std::vector<std::string> first_fields(const std::filesystem::path& table);

/// The text of a whole file. DataError if it can't be read.
[[nodiscard]] std::string read_text(const std::filesystem::path& file);

/// Calls `use(line, number from 1)` for every line that isn't blank, without line ends and byte
/// order mark.
void for_each_line(const std::filesystem::path& file,
                   const std::function<void(const std::string&, std::size_t)>& use);

/// The first line that isn't blank, as for_each_line() has it; "" of a file without one.
[[nodiscard]] std::string first_line(const std::filesystem::path& file);

/// What stands between the separators: one more than there are of these.
[[nodiscard]] std::vector<std::string> split(std::string_view line, char separator);

/// Without white space at both ends.
std::string trimmed(const std::string& text);

}  // namespace penstock::runtime
