#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/data/manifest/excerpt.h"
#include "runtime/data/manifest/manifest_formats.h"

// A table has a recording and a text in each row, and perhaps a segment's offset and duration, or a
// language:
//
//   path,sentence,offset
//   a.wav,"one, two",0.5
//
// The first line names the columns if it has a known name for both; otherwise it is a row, and the
// columns are path and text. TSV has no quotes, as Common Voice writes it.

namespace penstock::runtime {
namespace {

constexpr std::string_view kPaths[] = {"path",     "audio",     "audio_filepath", "file",
                                       "filename", "file_name", "wav_filename",   "wav"};
constexpr std::string_view kTexts[] = {"sentence", "text", "transcript", "transcription", "txt"};
constexpr std::string_view kOffsets[] = {"offset"}, kDurations[] = {"duration"};

/// Splits a line of CSV as RFC 4180 specifies: within quotes a comma is text, and two quotes are
/// one. Returns nothing if a quote is left open.
std::optional<std::vector<std::string>> split_csv(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool opens = !quoted && c == '"' && fields.back().empty();
    if (opens || (quoted && c == '"')) {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"')
        fields.back() += line[i++];
      else
        quoted = opens;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (quoted) return std::nullopt;
  return fields;
}

/// Splits a line of a table. In TSV, quotes are plain text.
std::optional<std::vector<std::string>> split_row(const std::filesystem::path& table,
                                                  std::string_view line) {
  return is_tsv(table) ? split(line, '\t') : split_csv(line);
}

/// Returns the first column that has one of these names.
template <std::size_t N>
std::optional<std::size_t> find_column(const std::vector<std::string>& header,
                                       const std::string_view (&names)[N]) {
  for (const std::string_view name : names)
    for (std::size_t i = 0; i < header.size(); ++i)
      if (trimmed(header[i]) == name) return i;
  return std::nullopt;
}

/// Returns the same or, if there is none, the first column that has one of these names in letters
/// of another case. A table must have such a column. A "Duration" is left alone: it may be of
/// milliseconds.
template <std::size_t N>
std::optional<std::size_t> find_needed_column(const std::vector<std::string>& header,
                                              const std::string_view (&names)[N]) {
  if (const auto exact = find_column(header, names)) return exact;
  std::vector<std::string> small;
  for (const std::string& name : header) small.push_back(in_small_letters(name));
  return find_column(small, names);
}

/// The numbers of a table's columns.
struct TableColumns {
  std::size_t path = 0, text = 1, number = 2;
  std::optional<std::size_t> offset = {}, duration = {};  // segments, as in JSON lines
  std::optional<std::size_t> language = {};
};

std::optional<TableColumns> find_columns(const std::vector<std::string>& header) {
  const auto path = find_needed_column(header, kPaths), text = find_needed_column(header, kTexts);
  if (!path || !text) return std::nullopt;
  return TableColumns{.path = *path,
                      .text = *text,
                      .number = header.size(),
                      .offset = find_column(header, kOffsets),
                      .duration = find_column(header, kDurations),
                      .language = find_column(header, kLanguageNames)};
}

/// Parses a number of seconds. Returns nothing if the field is no number or is below `min`.
std::optional<double> parse_seconds(const std::string& field, double min) {
  const std::string text = trimmed(field);
  double seconds = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole = fault == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(seconds) && seconds >= min ? std::optional(seconds) : std::nullopt;
}

/// Reads the segment that a row names, if any. Describes the problem with it; "" if there is none.
std::string take_segment(const std::vector<std::string>& fields, const TableColumns& columns,
                         ManifestEntry& entry) {
  constexpr double kShortest = 1e-9;
  if (columns.offset && !(entry.offset = parse_seconds(fields[*columns.offset], 0)))
    return fmt::format("its offset {} is not a number from 0 on", excerpt(fields[*columns.offset]));
  if (columns.duration && !(entry.duration = parse_seconds(fields[*columns.duration], kShortest)))
    return fmt::format("its duration {} is not a number above 0",
                       excerpt(fields[*columns.duration]));
  return {};
}

/// Says what to do with a table whose columns are separated by another character.
std::string advise_on_separator(const std::filesystem::path& table, char separator) {
  const std::string stem = uncompressed_name(table).stem().string();
  if (separator == '\t') return fmt::format("name it {}.tsv", stem);
  if (separator == ',') return fmt::format("name it {}.csv", stem);
  if (separator == '|' && table.filename() == "metadata.csv")
    return "name its folder, if it is LJSpeech's";
  return fmt::format("write {} between columns, and put texts with commas in quotes",
                     is_tsv(table) ? "tabs" : "commas");
}

/// Refuses a table whose first line shows another separator than its name.
void require_separator(const std::filesystem::path& table, const std::string& line) {
  if (line.find(is_tsv(table) ? '\t' : ',') != std::string::npos) return;
  constexpr std::string_view kSeparators = "\t;|,";
  const std::size_t place = line.find_first_of(kSeparators);
  if (place == std::string::npos) return;
  const char found = line[place];
  throw DataError(fmt::format("manifest {}: its columns are separated by {}, not by {}: {}",
                              table.string(), found == '\t' ? "tabs" : fmt::format("\"{}\"", found),
                              is_tsv(table) ? "tabs" : "commas",
                              advise_on_separator(table, found)));
}

/// Returns the first fields of a line for a message. A line may be long.
std::string describe_fields(const std::vector<std::string>& fields) {
  constexpr std::size_t kShown = 6;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(fields.size(), kShown); ++i)
    shown.push_back(fmt::format("\"{}\"", excerpt(fields[i])));
  if (fields.size() > kShown) shown.emplace_back("…");
  return fmt::format("{}", fmt::join(shown, ", "));
}

/// Refuses a first line that names some columns and not those that are needed, or that has the
/// recording in the column of texts.
void require_columns(const std::filesystem::path& table, const std::vector<std::string>& first) {
  const bool path = find_needed_column(first, kPaths).has_value();
  if (path || first.size() != TableColumns().number)
    throw DataError(fmt::format(
        "manifest {}: its first line has {}, {}, and names no column of {}: name it there, "
        "such as {}{}",
        table.string(), counted(std::ssize(first), "field"), describe_fields(first),
        path ? "texts" : "recordings", path ? "text" : "path",
        is_tsv(table) ? "" : ", and put texts with commas in quotes"));
  if (is_sound(trimmed(first[1])))
    throw DataError(fmt::format(
        "manifest {0}: has the text before the recording: name the columns in a first line, by sed "
        "-i '1i text{1}path' {0}",
        table.string(), is_tsv(table) ? "\\t" : ","));
}

/// Returns the columns that a table's first line names, or those of a table without such a line.
/// Throws DataError if it is of another form. A row with a recording is one: if it is bad, it is a
/// fault of its own, and the rows after it may be good.
std::optional<TableColumns> require_table(const std::filesystem::path& table,
                                          const std::string& line,
                                          const std::vector<std::string>& first) {
  const auto named = find_columns(first);
  if (named || is_sound(trimmed(first[0]))) return named;
  require_separator(table, line);
  require_columns(table, first);
  return std::nullopt;
}

}  // namespace

bool is_table_name(const std::filesystem::path& file) {
  const std::filesystem::path extension = uncompressed_name(file).extension();
  return extension == ".csv" || extension == ".tsv";
}

bool is_tsv(const std::filesystem::path& table) {
  return uncompressed_name(table).extension() == ".tsv";
}

std::vector<std::string> first_fields(const std::filesystem::path& table) {
  const std::string line = first_line(table);
  return split_row(table, line).value_or(std::vector{line});
}

bool has_recording_column(const std::vector<std::string>& header) {
  return find_column(header, kPaths).has_value();
}

void read_table(const ManifestReading& reading) {
  const auto folder = reading.manifest.parent_path();
  reading.sources.push_back(reading.manifest);
  TableColumns columns;
  std::string header;
  bool first = true;
  for_each_line(reading, reading.manifest, [&](const std::string& line, std::size_t number) {
    const std::string where = reading.at_line(number);
    const auto fields = split_row(reading.manifest, line);
    if (!fields) return reading.faults.add(where, "a quote is opened and not closed");
    if (std::exchange(first, false))
      if (const auto named = require_table(reading.manifest, line, *fields)) {
        columns = *named;
        header = line;
        return;
      }
    if (!header.empty() && line == header) return reading.faults.add(where, kRepeatedHeader);
    if (fields->size() != columns.number)
      return reading.faults.add(
          where,
          fmt::format("has {}, not {}{}", counted(std::ssize(*fields), "field"), columns.number,
                      is_tsv(reading.manifest) ? "" : ": put a text with a comma in quotes"));
    const std::string path = trimmed((*fields)[columns.path]);
    if (path.empty()) return reading.faults.add(where, "names no recording");
    ManifestEntry entry{folder / path, trimmed((*fields)[columns.text]), {}, where};
    const std::string fault = take_segment(*fields, columns, entry);
    if (!fault.empty()) return reading.faults.add(where, fault);
    if (columns.language) entry.language = trimmed((*fields)[*columns.language]);
    reading.add(std::move(entry));
  });
}

/// Reads metadata.csv: name|text|normalised text. The last field may be missing.
void read_ljspeech(const ManifestReading& reading) {
  const auto file = reading.manifest / "metadata.csv";
  reading.sources.insert(reading.sources.end(), {file, reading.manifest});
  for_each_line(reading, file, [&](const std::string& line, std::size_t number) {
    const std::string where = fmt::format("metadata.csv:{}", number);
    const std::vector<std::string> fields = split(line, '|');
    if (fields.size() < 2 || fields.size() > 3 || trimmed(fields[0]).empty())
      return reading.faults.add(where, "is not name|text or name|text|normalised text");
    const std::string last = trimmed(fields.back());
    reading.add({reading.manifest / "wavs" / (trimmed(fields[0]) + ".wav"),
                 last.empty() ? trimmed(fields[1]) : last,
                 {},
                 where});
  });
}

}  // namespace penstock::runtime
