#include "partition/write_whole.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

namespace penstock {
namespace {

namespace fs = std::filesystem;

bool write(const fs::path& file, std::string_view text) {
  std::ofstream out(file, std::ios::trunc);
  out << text;
  return static_cast<bool>(out.flush());
}

/// The file itself, where `file` is a link to one.
fs::path behind_links(const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error) ? fs::canonical(file, error) : file;
}

/// A device or a pipe, which has no text to keep.
bool is_special(const fs::path& file) {
  std::error_code error;
  return fs::exists(file, error) && !fs::is_regular_file(file, error);
}

std::string last_error() { return std::generic_category().message(errno); }

}  // namespace

bool write_whole(const fs::path& file, std::string_view text) {
  if (is_special(file)) return write(file, text);
  const fs::path target = behind_links(file);
  auto partial = target;
  partial += ".partial";
  std::error_code error;
  const bool written = write(partial, text);
  if (written) fs::rename(partial, target, error);
  if (written && !error) return true;
  fs::remove(partial, error);
  return false;
}

std::string why_unwritable(const fs::path& file) {
  std::error_code error;
  const bool known = fs::exists(file, error);
  if (error) return error.message() + ": name another file";
  if (!file.has_filename() || fs::is_directory(file, error))
    return "it is a folder: name a file in it";
  if (known && access(file.c_str(), W_OK) != 0)
    return last_error() + ": allow it, or name another file";
  if (is_special(file)) return {};
  const fs::path target = behind_links(file);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : ".";
  if (!fs::exists(folder, error))
    return "there is no folder " + folder.string() + ": make it, or name another file";
  std::string probe = target.string() + ".pXXXXXX";  // as long as what write_whole writes first
  const int made = mkstemp(probe.data());
  if (made < 0)
    return "no file can be made in " + folder.string() + " (" + last_error() +
           "): allow it, or name another file";
  close(made);
  unlink(probe.c_str());
  return {};
}

}  // namespace penstock
