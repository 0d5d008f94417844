#include "base/atomic_write.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/atomic_file.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

bool write(const fs::path& file, std::string_view text) {
  std::ofstream out(file, std::ios::trunc);
  out << text;
  return static_cast<bool>(out.flush());
}

/// Returns the file itself if `file` is a link to one.
fs::path behind_links(const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error) ? fs::canonical(file, error) : file;
}

/// Returns true for a device or a pipe, whose contents can't be replaced.
bool is_special(const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error) && !fs::is_regular_file(file, error);
}

/// Returns a suffix of this process alone, so that other processes may write the same file.
std::string suffix_of_process() { return fmt::format(".{}.partial", getpid()); }

}  // namespace

bool atomic_write(const fs::path& file, std::string_view text) {
  if (is_special(file)) return write(file, text);
  try {
    AtomicFile whole(behind_links(file), suffix_of_process());
    whole.write(text);
    whole.commit(Flush::none);
    return true;
  } catch (const FileError&) {
    return false;
  }
}

std::string why_unwritable(const fs::path& file) {
  std::error_code error;
  const bool known = fs::exists(file, error);
  if (error) return error.message() + ": name another file";
  if (!file.has_filename() || fs::is_directory(file, error))
    return "it is a folder: name a file in it";
  if (known && access(file.c_str(), W_OK) != 0)
    return std::generic_category().message(errno) + ": allow it, or name another file";
  if (is_special(file)) return {};
  const fs::path target = behind_links(file);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
  if (!fs::exists(folder, error))
    return fmt::format("there is no folder {}: make it, or name another file", folder.string());
  try {
    AtomicFile probe(target, suffix_of_process());
    return {};
  } catch (const FileError& failed) {
    return fmt::format("no file can be made in {} ({}): allow it, or name another file",
                       folder.string(), failed.code().message());
  }
}

}  // namespace penstock
