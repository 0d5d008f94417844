#include "configs/include.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <utility>

#include "configs/value.h"

// Included recipes are read depth first, and the settings of each go before those of the recipe
// that includes it. Settings are lines of their own from then on, so tables merge key by key, and a
// list is replaced as a whole. A recipe that two others include is read twice; its later place
// holds, as in the order of the settings that a reader sees.
//
// A recipe names its includes, so what they cost has bounds: how deep they go, how many there are
// and how large. Only regular files whose names end in .toml are read. No other file's text can
// appear in a message, and no pipe or device keeps the program waiting.

namespace penstock::configs {
namespace {

namespace fs = std::filesystem;

/// Returns the paths that a setting of include names, or nothing if it names none.
std::optional<std::vector<std::string>> paths_of(const Setting& setting) {
  std::vector<std::string> paths;
  if (setting.kind == Setting::Kind::text) {
    paths = {setting.text};
  } else if (setting.kind != Setting::Kind::list ||
             set_value({"include", &paths, anything(), ""}, setting.text)) {
    return std::nullopt;
  }
  return paths;
}

/// Returns the text of a file, or nothing if it can't be read or is larger than an include may be.
std::optional<std::string> bounded_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text(kLargestInclude + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad() || text.size() > kLargestInclude) return std::nullopt;
  return text;
}

class Includer {
 public:
  explicit Includer(std::vector<std::string>& faults) : faults_(faults) {}

  /// Appends the settings of what the recipe includes, then its own.
  void add(const std::string& text, const fs::path& name) {
    chain_.push_back(name);
    std::vector<Setting> own = settings_of_toml(text, name.string(), faults_);
    for (const Setting& setting : own)
      if (setting.key == "include") include(setting);
    std::erase_if(own, [](const Setting& setting) { return setting.key == "include"; });
    settings.insert(settings.end(), own.begin(), own.end());
    chain_.pop_back();
  }

  std::vector<Setting> settings;
  std::vector<fs::path> included;

 private:
  void include(const Setting& setting) {
    const auto paths = paths_of(setting);
    if (!paths) {
      faults_.push_back(fmt::format(
          "{}: include = {}, but it takes a path, or a list of paths without commas, such as "
          "[\"base.toml\", \"data.toml\"]",
          setting.where, setting.shown));
      return;
    }
    for (const std::string& path : *paths) {
      const fs::path file = chain_.back().parent_path() / path;
      if (const std::string fault = refusal(path, file); !fault.empty()) {
        faults_.push_back(fmt::format("{}: include names {}, but {}{}", setting.where, path, fault,
                                      chain_text(file)));
        continue;
      }
      const auto text = bounded_text(file);
      if (!text) {
        faults_.push_back(
            fmt::format("{}: include names {}, but {} can't be read, or has more than {} bytes{}",
                        setting.where, path, file.string(), kLargestInclude, chain_text(file)));
        continue;
      }
      included.push_back(file);
      add(*text, file);
    }
  }

  /// Returns why a path can't be included, or "".
  std::string refusal(const std::string& path, const fs::path& file) const {
    if (path.find("://") != std::string::npos)
      return "recipes are included from this machine alone: download it";
    if (!path.ends_with(".toml")) return "a recipe's name ends in .toml";
    std::error_code error;
    if (!fs::exists(file, error))
      return fmt::format("there is no file {}; its path starts from the folder of {}",
                         file.string(), chain_.back().string());
    if (!fs::is_regular_file(file, error)) return fmt::format("{} is no file", file.string());
    if (std::ranges::any_of(chain_, [&](const fs::path& above) { return same_file(above, file); }))
      return "it leads back to itself: leave one out of";
    if (chain_.size() >= kDeepestIncludes)
      return fmt::format("includes go no deeper than {} recipes: join some of", kDeepestIncludes);
    if (included.size() >= kMostIncludes)
      return fmt::format("a recipe includes no more than {}, each counted as often as it is named",
                         kMostIncludes);
    return "";
  }

  /// A recipe that was passed as text has perhaps no file, and is then equal to none.
  static bool same_file(const fs::path& a, const fs::path& b) {
    std::error_code error;
    return fs::equivalent(a, b, error);
  }

  /// Returns the recipes from the first to `file`, unless a message shows them already.
  std::string chain_text(const fs::path& file) const {
    if (chain_.size() == 1 && !same_file(chain_.front(), file)) return "";
    std::vector<std::string> names;
    for (const fs::path& name : chain_) names.push_back(name.string());
    return fmt::format(": {} > {}", fmt::join(names, " > "), file.string());
  }

  std::vector<std::string>& faults_;
  std::vector<fs::path> chain_;  // from the first recipe to the one that is being read
};

}  // namespace

std::vector<Setting> settings_of_recipe(const std::string& text, const std::string& name,
                                        std::vector<std::string>& faults) {
  Includer includer(faults);
  includer.add(text, name);
  return std::move(includer.settings);
}

std::vector<Setting> settings_of(const fs::path& file, std::span<const std::string> overrides,
                                 std::vector<std::string>& faults) {
  std::vector<Setting> settings;
  if (!file.empty())
    settings = settings_of_recipe(file_text(file).value_or(""), file.string(), faults);
  const std::vector<Setting> over = settings_of_overrides(overrides, faults);
  settings.insert(settings.end(), over.begin(), over.end());
  return settings;
}

std::vector<fs::path> included_recipes(const fs::path& file) {
  std::vector<std::string> faults;
  Includer includer(faults);
  includer.add(file_text(file).value_or(""), file);
  return std::move(includer.included);
}

}  // namespace penstock::configs
