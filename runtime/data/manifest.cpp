#include "runtime/data/manifest.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "runtime/data/manifest_formats.h"

namespace penstock::runtime {

std::string_view name_of(ManifestFormat format) {
  switch (format) {
    case ManifestFormat::json_lines:
      return "JSON lines";
    case ManifestFormat::deepspeech_json:
      return "deepspeech.pytorch JSON";
    case ManifestFormat::deepspeech_csv:
      return "deepspeech.pytorch CSV";
    case ManifestFormat::librispeech:
      return "LibriSpeech folder";
    case ManifestFormat::common_voice:
      return "Common Voice TSV";
  }
  return "";
}

ManifestFormat manifest_format(const std::filesystem::path& manifest) {
  std::error_code error;
  if (!std::filesystem::exists(manifest, error))
    throw DataError(fmt::format("manifest {}: no such file or folder", manifest.string()));
  if (std::filesystem::is_directory(manifest)) return ManifestFormat::librispeech;
  if (manifest.extension() == ".csv") return ManifestFormat::deepspeech_csv;
  if (manifest.extension() == ".tsv") return ManifestFormat::common_voice;
  const auto json = nlohmann::json::parse(read_text(manifest), nullptr, false);
  return json.is_object() && json.contains("samples") ? ManifestFormat::deepspeech_json
                                                      : ManifestFormat::json_lines;
}

std::vector<ManifestEntry> read_manifest(const std::filesystem::path& manifest, Faults& faults) {
  std::vector<ManifestEntry> entries;
  const ManifestReading reading{manifest, entries, faults};
  switch (manifest_format(manifest)) {
    case ManifestFormat::json_lines:
      read_json_lines(reading);
      break;
    case ManifestFormat::deepspeech_json:
      read_deepspeech_json(reading);
      break;
    case ManifestFormat::deepspeech_csv:
      read_deepspeech_csv(reading);
      break;
    case ManifestFormat::librispeech:
      read_librispeech(reading);
      break;
    case ManifestFormat::common_voice:
      read_common_voice(reading);
      break;
  }
  return entries;
}

std::string ManifestReading::at_line(std::size_t line) const {
  return fmt::format("{}:{}", manifest.filename().string(), line);
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (!in.is_open() || in.bad()) throw DataError(file.string() + ": cannot be read");
  return text;
}

void for_each_line(const std::filesystem::path& file,
                   const std::function<void(const std::string&, std::size_t)>& use) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw DataError(file.string() + ": cannot be read");
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") != std::string::npos) use(line, number);
  }
}

std::string trimmed(const std::string& text) {
  constexpr const char* kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace penstock::runtime
