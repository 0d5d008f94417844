#include "runtime/data/manifest/missing_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/name_match.h"
#include "runtime/data/manifest/foreign_file.h"
#include "runtime/data/manifest/manifest_formats.h"

// A name that does not exist is most often one of four: a download that was not unpacked, a folder
// that is spelt otherwise, a path that starts from another folder, or a pattern with a slip. The
// file system is asked for each of them, only after a name was not found. A recording's likely
// names are tried one by one: to list its folder for each of a million would take hours.

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 7> kArchives = {".tar.gz", ".tgz", ".tar",    ".zip",
                                                  ".tar.xz", ".gz",  ".tar.bz2"};

fs::path here_if_empty(const fs::path& folder) { return folder.empty() ? "." : folder; }

/// Returns the first folder on the way to a path that does not exist; "" if they all do.
fs::path first_missing_folder(const fs::path& path) {
  fs::path missing;
  for (fs::path folder = path.parent_path(); !folder.empty() && !exists_at(folder);
       folder = folder.parent_path())
    missing = folder;
  return missing;
}

/// Returns the target of a link that leads nowhere; "" for other paths.
fs::path dead_target(const fs::path& path) {
  std::error_code error;
  return fs::is_symlink(path, error) && !exists_at(path) ? fs::read_symlink(path, error)
                                                         : fs::path();
}

/// Describes why the system does not let us look at a path; "" if it does, or nothing is there.
std::string describe_unreadable(const fs::path& path) {
  std::error_code error;
  return fs::status(path, error).type() == fs::file_type::none ? "can't be read: " + error.message()
                                                               : "";
}

/// Describes the name in its folder that a typed one is likely to mean; "" if there is none.
std::string describe_neighbour(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  const std::string typed = path.filename().string();
  fs::directory_iterator item(here_if_empty(path.parent_path()), error);
  for (; !error && item != fs::directory_iterator(); item.increment(error)) {
    names.push_back(item->path().filename().string());
    if (in_small_letters(names.back()) == in_small_letters(typed))
      return fmt::format("; did you mean {}?", names.back());
  }
  std::ranges::sort(names);
  return did_you_mean(typed, names);
}

/// Describes a slip in a pattern of shards; "" if the name has no sign of one.
std::string describe_pattern(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("*") || has("?"))
    return ": * and ? are not expanded. Name shards as {0..7} or as {a,b}, in quotes, or their "
           "folder";
  if (has("_OP_") || has("_CL_") || has("{") || has("}"))
    return ": its pattern is not complete. Shards are named {0..7} or {a,b}, in quotes, or "
           "_OP_0..7_CL_";
  return {};
}

/// Describes a name that ends in ":SUBSET"; "" if it does not.
std::string describe_subset(const std::string& name) {
  const std::size_t colon = name.rfind(':');
  if (colon == std::string::npos) return {};
  const fs::path file = name.substr(0, colon);
  std::error_code error;
  if (fs::is_directory(file, error) && exists_at(file / "GigaSpeech.json"))
    return fmt::format("; did you mean {}{}?", (file / "GigaSpeech.json").string(),
                       name.substr(colon));
  if (!fs::is_regular_file(file, error)) return {};
  std::string head(kForeignHead, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(head.data(), std::ssize(head));
  head.resize(static_cast<std::size_t>(in.gcount()));
  const std::string foreign = describe_no_text(file, head);
  return fmt::format(": {} {}", file.string(),
                     foreign.empty() ? "has no subsets: GigaSpeech.json alone has them" : foreign);
}

}  // namespace

bool exists_at(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string describe_missing_manifest(const fs::path& manifest) {
  std::error_code error;
  if (std::string unreadable = describe_unreadable(manifest); !unreadable.empty())
    return unreadable;
  std::string what = "no such file or folder";
  if (const fs::path target = dead_target(manifest); !target.empty())
    return fmt::format("{}: it is a link to {}, which does not exist", what, target.string());
  for (const char* extension : kArchives)
    if (const std::string archive = manifest.string() + extension; exists_at(archive))
      return fmt::format("{}, but {} is there: unpack it, by {} {}", what, archive,
                         std::string_view(extension) == ".zip"  ? "unzip"
                         : std::string_view(extension) == ".gz" ? "gunzip -k"
                                                                : "tar -xf",
                         archive);
  for (const std::string& slip :
       {describe_subset(manifest.string()), describe_pattern(manifest.string())})
    if (!slip.empty()) return what + slip;
  const fs::path missing = first_missing_folder(manifest);
  if (missing.empty()) return what + describe_neighbour(manifest);
  return fmt::format("{}: there is no {} in {}{}", what, missing.filename().string(),
                     fs::absolute(missing, error).lexically_normal().parent_path().string(),
                     describe_neighbour(missing));
}

std::string describe_missing_recording(const fs::path& recording) {
  constexpr std::array<const char*, 9> kOthers = {".wav", ".flac", ".mp3", ".ogg", ".opus",
                                                  ".m4a", ".sph",  ".WAV", ".webm"};
  if (std::string unreadable = describe_unreadable(recording); !unreadable.empty())
    return unreadable;
  if (const fs::path target = dead_target(recording); !target.empty())
    return fmt::format("no such file: it is a link to {}, which does not exist", target.string());
  if (const fs::path missing = first_missing_folder(recording); !missing.empty())
    return fmt::format("no such file, nor is there a folder {}", missing.string());
  for (const char* extension : kOthers) {
    fs::path other = recording;
    if (other.replace_extension(extension) != recording && exists_at(other))
      return fmt::format("no such file, but {} is there", other.filename().string());
  }
  return "no such file";
}

}  // namespace penstock::runtime
