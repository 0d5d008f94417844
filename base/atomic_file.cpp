#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <utility>

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

AtomicFile::AtomicFile(std::filesystem::path path, const std::string& suffix)
    : path_(std::move(path)),
      partial_(path_.string() + suffix),
      file_(partial_, O_WRONLY | O_CREAT | O_TRUNC, 0666) {}  // narrowed by the umask

AtomicFile::~AtomicFile() {
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) { file_.write(bytes); }

// The order is what makes it safe: bytes reach the disk before the name does, so a power failure
// leaves the old file or the whole new one. The name itself is an entry of the folder, which is
// flushed last.
void AtomicFile::commit(Flush flush) {
  if (flush == Flush::to_disk && ::fsync(file_.descriptor()) != 0)
    raise_errno(path_, "can't be flushed to the disk");
  file_.close();
  if (::rename(partial_.c_str(), path_.c_str()) != 0)
    raise_errno(partial_, "can't be renamed to " + path_.string());
  partial_.clear();
  if (flush == Flush::to_disk) sync_folder(path_.parent_path());
}

void write_durably(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void sync_folder(const std::filesystem::path& folder) {
  const FileHandle handle(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
  if (::fsync(handle.descriptor()) != 0) raise_errno(folder, "can't be flushed to the disk");
}

// A link is followed first: renaming replaces the link itself otherwise.
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

// The last test makes a partial file and removes it, since permissions alone do not tell of a
// read-only file system.
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
