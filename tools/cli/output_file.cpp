#include "tools/cli/output_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "base/atomic_write.h"
#include "base/error.h"
#include "configs/config.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;

/// Returns true for regular files, in which one output would replace another. Devices and pipes
/// take both.
bool keeps_one_text(const fs::path& file) {
  std::error_code error;
  return !fs::exists(file, error) || fs::is_regular_file(file, error);
}

/// Returns the canonical path, which all names of a file share. A path that can't be resolved is
/// its own.
fs::path place(const std::string& path) {
  std::error_code error;
  const fs::path known = fs::weakly_canonical(fs::absolute(path), error);
  return error ? fs::path(path) : known;
}

}  // namespace

void check_outputs(std::initializer_list<NamedFile> written, const std::vector<NamedFile>& read) {
  std::map<fs::path, const char*> named;
  std::error_code error;
  for (const auto& [option, path] : read)
    if (fs::exists(path, error)) named.try_emplace(place(path), option);
  for (const auto& [option, path] : written) {
    if (path.empty()) continue;
    if (const std::string why = why_unwritable(path); !why.empty())
      throw ConfigError(fmt::format("{}: can't write {}: {}", option, path, why));
    if (!keeps_one_text(path)) continue;
    const auto [other, fresh] = named.try_emplace(place(path), option);
    if (!fresh)
      throw ConfigError(fmt::format("{} and {} both name {}: give each a file of its own",
                                    other->second, option, path));
  }
}

void write_output(const std::string& path, const std::string& text) {
  if (!atomic_write(path, text)) throw ConfigError(fmt::format("can't write {}", path));
}

}  // namespace penstock::tools
