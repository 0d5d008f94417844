#include "runtime/recognise/manifest_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "runtime/data/manifest/manifest.h"

namespace penstock::runtime {
namespace {

std::ifstream open_lines(const std::filesystem::path& manifest) {
  const ManifestFormat format = manifest_format(manifest);
  if (format != ManifestFormat::json_lines)
    throw DataError(
        fmt::format("--by reads fields of JSON lines, but {} is {}: make JSON lines "
                    "of it, by penstock data make, and add the fields",
                    manifest.string(), name_of(format)));
  std::ifstream file(manifest);
  if (!file) throw DataError(fmt::format("{}: can't be read", manifest.string()));
  return file;
}

/// Returns the JSON of a line. The result is not an object if the line is not one.
nlohmann::json parsed(std::string line) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
  return nlohmann::json::parse(line, nullptr, false);
}

std::string value_of(const nlohmann::json& line, const std::string& field) {
  const auto found = line.is_object() ? line.find(field) : line.end();
  if (found == line.end() || found->is_null()) return kNoValue;
  return found->is_string() ? found->get<std::string>() : found->dump();
}

}  // namespace

ManifestFields::ManifestFields(const std::string& manifest, std::vector<std::string> fields)
    : manifest_(remote_files()->open_manifest(manifest)),
      fields_(std::move(fields)),
      file_(open_lines(manifest_.path)) {}

std::vector<std::string> ManifestFields::at(std::size_t number) {
  std::string text;
  while (number_ < number) {
    if (!std::getline(file_, text))
      throw DataError(
          fmt::format("{}: has no line {} any more: index it anew, by penstock data "
                      "index",
                      manifest_.path.string(), number));
    ++number_;
  }
  const nlohmann::json line = parsed(std::move(text));
  std::vector<std::string> values;
  for (const std::string& field : fields_) values.push_back(value_of(line, field));
  return values;
}

// Reading ends with the line at which the last field is found, which is the first one as a rule. A
// misspelt field costs a pass over all manifests.
void require_fields(const std::vector<std::string>& manifests,
                    const std::vector<std::string>& fields) {
  std::set<std::string> missing(fields.begin(), fields.end()), known;
  for (const std::string& manifest : manifests) {
    const LocalFile local = remote_files()->open_manifest(manifest);
    std::ifstream file = open_lines(local.path);
    for (std::string text; !missing.empty() && std::getline(file, text);) {
      const nlohmann::json line = parsed(std::move(text));
      if (!line.is_object()) continue;
      for (const auto& [field, value] : line.items())
        if (missing.erase(field) == 0) known.insert(field);
    }
  }
  if (missing.empty()) return;
  throw DataError(fmt::format("--by {}: no line of {} has this field; lines have {}",
                              *missing.begin(), fmt::join(manifests, ", "),
                              fmt::join(known, ", ")));
}

}  // namespace penstock::runtime
