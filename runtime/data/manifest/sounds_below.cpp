#include "runtime/data/manifest/sounds_below.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantities.h"

// A folder's time of change shows that recordings came or went. That of a table's folder also
// changes when an index is written beside the table, so it is no source.

namespace penstock::runtime {

SoundsBelow::SoundsBelow(const ManifestReading& reading, const std::filesystem::path& folder)
    : folder_(folder.empty() ? "." : folder) {
  const std::ptrdiff_t own = std::ssize(reading.sources);  // the place of folder_
  for (const auto& file : files_below(folder_, &reading.sources))
    if (is_sound(file))
      if (!sounds_.try_emplace(file.stem().string(), file).second)
        second_.try_emplace(file.stem().string(), file);
  if (sounds_.empty())
    throw DataError(
        fmt::format("manifest {}: there are no recordings below {}: unpack them there, or name the "
                    "folder that has texts and recordings",
                    reading.manifest.string(), folder_.string()));
  if (folder_ != reading.manifest) reading.sources.erase(reading.sources.begin() + own);
}

const std::filesystem::path& SoundsBelow::named(const std::string& name) const {
  const auto found = sounds_.find(name), again = second_.find(name);
  if (found == sounds_.end())
    throw DataError(fmt::format("has no recording {}.* among the {} below {}: unpack them there",
                                name, counted(std::ssize(sounds_), "recording"), folder_.string()));
  if (again != second_.end())
    throw DataError(fmt::format("has two recordings, {} and {}: leave one there",
                                found->second.string(), again->second.string()));
  return found->second;
}

}  // namespace penstock::runtime
