#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "runtime/data/manifest_formats.h"

namespace penstock::runtime {
namespace {

constexpr std::string_view kPaths[] = {"path",     "audio",     "audio_filepath", "file",
                                       "filename", "file_name", "wav_filename",   "wav"};
constexpr std::string_view kTexts[] = {"sentence", "text", "transcript", "transcription", "txt"};

/// The fields of a line, as RFC 4180 has them: in quotes, a separator is text, and two quotes are
/// one. Nothing if a quote is left open.
std::optional<std::vector<std::string>> fields_of(std::string_view line, char separator) {
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
    } else if (c == separator && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (quoted) return std::nullopt;
  return fields;
}

/// Of the columns that are called so, the first.
template <std::size_t N>
std::optional<std::size_t> column(const std::vector<std::string>& header,
                                  const std::string_view (&names)[N]) {
  for (const std::string_view name : names)
    for (std::size_t i = 0; i < header.size(); ++i)
      if (trimmed(header[i]) == name) return i;
  return std::nullopt;
}

/// Where a table has what.
struct TableColumns {
  std::size_t path = 0, text = 1, number = 2;
};

std::optional<TableColumns> columns_of(const std::vector<std::string>& header) {
  const auto path = column(header, kPaths), text = column(header, kTexts);
  if (!path || !text) return std::nullopt;
  return TableColumns{*path, *text, header.size()};
}

char separator_of(const std::filesystem::path& table) {
  return table.extension() == ".tsv" ? '\t' : ',';
}

}  // namespace

std::vector<std::string> first_fields(const std::filesystem::path& table) {
  std::vector<std::string> first;
  for_each_line(table, [&](const std::string& line, std::size_t) {
    if (first.empty()) first = fields_of(line, separator_of(table)).value_or(std::vector{line});
  });
  return first;
}

void read_table(const ManifestReading& reading) {
  const char separator = separator_of(reading.manifest);
  const auto folder = reading.manifest.parent_path();
  TableColumns columns;
  bool first = true;
  for_each_line(reading.manifest, [&](const std::string& line, std::size_t number) {
    const std::string where = reading.at_line(number);
    const auto fields = fields_of(line, separator);
    if (!fields) return reading.faults.add(where, "a quote is opened and not closed");
    if (std::exchange(first, false))
      if (const auto named = columns_of(*fields)) {
        columns = *named;
        for (const char* cut : {"offset", "start", "begin"})
          if (std::ranges::find(*fields, cut) != fields->end())
            reading.faults.add(where,
                               fmt::format("has a column {}, but segments are read from JSON "
                                           "lines and Kaldi folders only",
                                           cut));
        return;
      }
    if (fields->size() != columns.number)
      return reading.faults.add(where,
                                fmt::format("has {}, not {}: put a text with a {} in quotes",
                                            counted(std::ssize(*fields), "field"), columns.number,
                                            separator == ',' ? "comma" : "tab"));
    const std::string path = trimmed((*fields)[columns.path]);
    if (path.empty()) return reading.faults.add(where, "names no recording");
    reading.entries.push_back({folder / path, trimmed((*fields)[columns.text]), {}, where});
  });
}

/// metadata.csv: name|text|text as it is read, where the last may be missing.
void read_ljspeech(const ManifestReading& reading) {
  const auto file = reading.manifest / "metadata.csv";
  for_each_line(file, [&](const std::string& line, std::size_t number) {
    const std::string where = fmt::format("metadata.csv:{}", number);
    std::vector<std::string> fields(1);
    for (const char c : line)
      if (c == '|')
        fields.emplace_back();
      else
        fields.back() += c;
    if (fields.size() < 2 || fields.size() > 3 || trimmed(fields[0]).empty())
      return reading.faults.add(where, "is not name|text or name|text|normalised text");
    const std::string last = trimmed(fields.back());
    reading.entries.push_back({reading.manifest / "wavs" / (trimmed(fields[0]) + ".wav"),
                               last.empty() ? trimmed(fields[1]) : last,
                               {},
                               where});
  });
}

}  // namespace penstock::runtime
