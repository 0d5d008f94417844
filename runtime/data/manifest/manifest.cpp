#include "runtime/data/manifest/manifest.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/quantities.h"
#include "base/unicode.h"
#include "runtime/data/manifest/foreign_file.h"
#include "runtime/data/manifest/line_reader.h"
#include "runtime/data/manifest/manifest_formats.h"
#include "runtime/data/manifest/tar_member.h"
#include "runtime/data/remote/remote_url.h"

// Readers of all formats pass one entry at a time to the same sink, so memory does not grow with
// the manifest. A fault of one line is noted and the next line is read.

namespace penstock::runtime {
namespace {

/// A format, its name in messages, and its reader.
struct FormatReader {
  ManifestFormat format;
  std::string_view name;
  void (*read)(const ManifestReading&);
};

constexpr FormatReader kReaders[] = {
    {ManifestFormat::json_lines, "JSON lines", read_json_lines},
    {ManifestFormat::deepspeech_json, "deepspeech.pytorch JSON", read_deepspeech_json},
    {ManifestFormat::deepspeech_csv, "deepspeech.pytorch CSV", read_deepspeech_csv},
    {ManifestFormat::table, "table of recordings and texts", read_table},
    {ManifestFormat::common_voice, "Common Voice TSV", read_common_voice},
    {ManifestFormat::librispeech, "LibriSpeech folder", read_librispeech},
    {ManifestFormat::kaldi, "Kaldi folder", read_kaldi},
    {ManifestFormat::ljspeech, "LJSpeech folder", read_ljspeech},
    {ManifestFormat::nemo, "NeMo folder of tars", read_nemo},
    {ManifestFormat::webdataset, "WebDataset tars", read_webdataset},
    {ManifestFormat::folder, "folder of recordings and texts", read_folder},
    {ManifestFormat::lhotse_cuts, "Lhotse cuts", read_lhotse_cuts},
    {ManifestFormat::lhotse_supervisions, "Lhotse supervisions", read_lhotse_supervisions},
    {ManifestFormat::lhotse_recordings, "Lhotse recordings", read_lhotse_recordings},
    {ManifestFormat::mls, "MLS folder", read_mls},
    {ManifestFormat::fleurs, "FLEURS TSV", read_fleurs},
    {ManifestFormat::voxpopuli, "VoxPopuli TSV", read_voxpopuli},
    {ManifestFormat::peoples_speech, "People's Speech JSON lines", read_peoples_speech},
    {ManifestFormat::stm, "folder of STM files", read_stm},
    {ManifestFormat::gigaspeech, "GigaSpeech subset", read_gigaspeech},
    {ManifestFormat::shards, "shards", read_shards},
};

const FormatReader& find_reader(ManifestFormat format) {
  return *std::ranges::find(kReaders, format, &FormatReader::format);
}

/// Replaces "TAR:NAME" by the member that it names.
void find_member(ManifestEntry& entry, TarListings& tars) {
  if (tar_member(entry.audio.native())) return;
  if (const auto member = split_member(entry.audio.native()))
    entry.audio = tars.get(member->first, member->second);
}

/// Throws DataError for a text in another encoding, whose letters would be taken for others.
void require_utf8(const std::string& text) {
  constexpr std::size_t kShown = 24;  // bytes before the wrong one
  if (std::ranges::none_of(text, [](char c) { return (c & 0x80) != 0; })) return;
  const auto byte = decode_utf8(text).wrong_byte;
  if (!byte) return;
  std::size_t first = *byte - std::min(*byte, kShown);
  while (first < *byte && (text[first] & 0xc0) == 0x80) ++first;  // the rest of a character
  throw DataError(fmt::format(
      "its text is not UTF-8 at byte {}, \"{}\": convert the file, by iconv -f CP1252 -t "
      "UTF-8 if it is Western Windows' text",
      *byte, repaired_utf8(text.substr(first, *byte + 1 - first))));
}

}  // namespace

void read_by_format(const ManifestReading& reading) {
  find_reader(manifest_format(reading.manifest, reading.texts)).read(reading);
}

std::string_view name_of(ManifestFormat format) { return find_reader(format).name; }

void read_manifest(const std::filesystem::path& manifest, ManifestSink& sink, Faults& faults) {
  TarListings tars(sink.sources, sink.files);
  ManifestReading reading{manifest, {},           faults,     sink.sources,
                          tars,     sink.skipped, sink.files, sink.texts};
  reading.add = [&](ManifestEntry entry) {
    try {
      entry.audio = reading.located(entry.audio);
      find_member(entry, tars);
      require_utf8(entry.text);
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

std::string ManifestReading::at_line(std::size_t line) const { return at_line(manifest, line); }

std::string ManifestReading::at_line(const std::filesystem::path& file, std::size_t line) const {
  return fmt::format("{}:{}", (folder_name / file.filename()).string(), line);
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

namespace {

/// Throws DataError if what was said of a file's first bytes shows that it is no text.
void require_text(const std::filesystem::path& file, const std::string& foreign) {
  if (!foreign.empty()) throw DataError(fmt::format("{}: {}", file.string(), foreign));
}

std::string_view foreign_head(std::string_view bytes) { return bytes.substr(0, kForeignHead); }

}  // namespace

std::string read_text(const ManifestReading& reading, const std::filesystem::path& file) {
  const LocalFile local = reading.open(file);
  return text_in(local.path);
}

std::string text_in(const std::filesystem::path& file) try {
  std::string text = read_file(file);
  require_text(file, describe_no_transcript(file, foreign_head(text)));
  return text;
} catch (const FileError& error) {
  throw DataError(error.what());
}

namespace {

/// Calls `use` for every line that isn't blank until it returns false.
template <class Use>
void read_lines(const std::filesystem::path& file, Use use) {
  LineReader lines(file);
  require_text(file, describe_no_text(file, foreign_head(lines.head())));
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

std::string second_line(const std::filesystem::path& file) {
  std::string second;
  bool first = true;
  read_lines(file, [&](const std::string& line, std::size_t) {
    if (!first) second = line;
    return std::exchange(first, false);
  });
  return second;
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

std::filesystem::path uncompressed_name(const std::filesystem::path& file) {
  return file.extension() == ".gz" ? file.parent_path() / file.stem() : file;
}

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace penstock::runtime
