#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/manifest/manifest.h"
#include "runtime/data/manifest/tar_listings.h"
#include "runtime/data/remote/remote_files.h"

namespace penstock::runtime {

/// Names of the field or column with an utterance's language, the likeliest first.
inline constexpr std::string_view kLanguageNames[] = {"language", "lang", "source_lang", "locale"};

/// The state that the readers of all formats share. Each reader adds utterances, faults and
/// sources.
struct ManifestReading {
  std::filesystem::path manifest;
  std::function<void(ManifestEntry)> add;
  Faults& faults;
  std::vector<std::filesystem::path>& sources;  // ManifestSink::sources
  TarListings& tars;
  std::size_t& skipped;  // ManifestSink::skipped
  RemoteFiles* files = nullptr;
  bool texts = true;                       // ManifestSink::texts
  std::filesystem::path folder_name = {};  // of one of several shards, if they are in several

  /// Returns the path of a file that the manifest names, see RemoteFiles::located(). Without
  /// `files`, a URL is a DataError.
  [[nodiscard]] std::filesystem::path located(const std::filesystem::path& file) const;
  /// Opens such a file.
  [[nodiscard]] LocalFile open(const std::filesystem::path& file) const;

  /// Returns the same for another manifest, a part of this one.
  [[nodiscard]] ManifestReading with(const std::filesystem::path& part) const;

  /// Returns "train.jsonl:17", a line of the manifest or of a part of it; "bucket_2/train.jsonl:17"
  /// for shards in several folders.
  [[nodiscard]] std::string at_line(std::size_t line) const;
  [[nodiscard]] std::string at_line(const std::filesystem::path& file, std::size_t line) const;
};

/// Reads a manifest by the reader of its format, one of those below.
void read_by_format(const ManifestReading&);
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
void read_shards(const ManifestReading&);
void read_lhotse_cuts(const ManifestReading&);
void read_lhotse_supervisions(const ManifestReading&);
void read_lhotse_recordings(const ManifestReading&);

void read_mls(const ManifestReading&);
void read_fleurs(const ManifestReading&);
void read_voxpopuli(const ManifestReading&);
void read_peoples_speech(const ManifestReading&);
void read_stm(const ManifestReading&);
void read_gigaspeech(const ManifestReading&);

/// Returns true for a folder that is a set of Multilingual LibriSpeech, with audio/ and a
/// transcripts.txt whose lines have a tab.
[[nodiscard]] bool is_mls_set(const std::filesystem::path& folder);

/// Returns true for the fields of a row of FLEURS' tables.
[[nodiscard]] bool is_fleurs_row(const std::vector<std::string>& fields);

/// The fault of a line that names the columns again, as cat leaves it between two tables.
inline constexpr const char* kRepeatedHeader =
    "names the columns a second time: remove the line, which joining tables by cat leaves";

/// Returns true if a file's name is a table's: .csv or .tsv, also compressed, with .gz after it.
[[nodiscard]] bool is_table_name(const std::filesystem::path& file);

/// Returns true for a table whose columns are separated by tabs, by its name.
[[nodiscard]] bool is_tsv(const std::filesystem::path& table);

/// Returns a file's name without .gz at its end.
[[nodiscard]] std::filesystem::path uncompressed_name(const std::filesystem::path& file);

/// Returns true if a table's first line names a column of recordings, such as "path".
[[nodiscard]] bool has_recording_column(const std::vector<std::string>& header);

/// Returns true if a table's first line names the columns of VoxPopuli's, and none of recordings.
[[nodiscard]] bool has_voxpopuli_columns(const std::vector<std::string>& header);

/// The file GigaSpeech.json, and the name of a subset: "M", or "" if none is named.
struct GigaspeechName {
  std::filesystem::path file;
  std::string subset;
};

/// Parses "GigaSpeech.json:M". Nothing for other paths.
[[nodiscard]] std::optional<GigaspeechName> gigaspeech_name(const std::filesystem::path& manifest);

/// Returns the NeMo manifests in a folder of tarred data: the manifest of all shards, or those of
/// single shards in order. Returns none if the folder is of another kind.
[[nodiscard]] std::vector<std::filesystem::path> nemo_manifests(
    const std::filesystem::path& folder);

/// Returns true if a file has an extension of audio.
[[nodiscard]] bool is_sound(const std::filesystem::path& file);

/// Returns the extension of the recording that has this path without one; "" if there is none.
[[nodiscard]] std::string extension_beside(const std::filesystem::path& stem);

/// The extension that all recordings of a corpus share, judged by the first of them that is there.
/// So the file system is not asked for each line, which would be slow on network disks.
class SharedExtension {
 public:
  /// Returns the recording of this path without extension. Its extension is .flac while none of the
  /// first kTried recordings is there.
  [[nodiscard]] std::filesystem::path recording(const std::filesystem::path& stem);

  static constexpr int kTried = 100;

 private:
  std::string extension_;
  int tried_ = 0;
};

/// Returns all files below the folder, sorted by path. If `folders` is not null, it gets this
/// folder and those below it. Throws DataError if a folder can't be read.
[[nodiscard]] std::vector<std::filesystem::path> files_below(
    const std::filesystem::path& folder, std::vector<std::filesystem::path>* folders = nullptr);
/// Returns all files below the manifest, which is a folder.
[[nodiscard]] std::vector<std::filesystem::path> files_below(const ManifestReading& reading);

/// Adds an utterance whose text lies in a file of its own. Its lines are joined by spaces.
void add_with_text_file(const ManifestReading&, const std::filesystem::path& audio,
                        const std::filesystem::path& transcript, const std::string& where);

/// Returns a transcript without white space at its ends, with its lines joined by spaces.
[[nodiscard]] std::string one_line(const std::string& transcript);

/// Returns the fields of a table's first line that isn't blank; none if the table is empty.
[[nodiscard]] std::vector<std::string> first_fields(const std::filesystem::path& table);

/// Returns the text of a transcript that a manifest names. Throws DataError if it can't be read.
[[nodiscard]] std::string read_text(const ManifestReading&, const std::filesystem::path& file);

/// Returns the text of a transcript on this machine. Throws DataError if it can't be read.
[[nodiscard]] std::string text_in(const std::filesystem::path& file);

/// Calls use(line, number) for every line that isn't blank. Numbers start at 1; line ends and a
/// byte order mark are removed.
void for_each_line(const ManifestReading&, const std::filesystem::path& file,
                   const std::function<void(const std::string&, std::size_t)>& use);

/// Returns the first line that isn't blank, as for_each_line() passes it; "" if there is none.
[[nodiscard]] std::string first_line(const std::filesystem::path& file);
/// Returns the second of such lines; "" if there is none.
[[nodiscard]] std::string second_line(const std::filesystem::path& file);

/// Returns the fields between the separators: one more than there are separators.
[[nodiscard]] std::vector<std::string> split(std::string_view line, char separator);

/// Returns the text without white space at both ends.
std::string trimmed(const std::string& text);

/// Returns the text with small letters for the capital ones of ASCII.
[[nodiscard]] std::string in_small_letters(std::string text);

}  // namespace penstock::runtime
