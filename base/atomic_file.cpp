#include "base/atomic_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <utility>

namespace penstock {

AtomicFile::AtomicFile(std::filesystem::path path, const std::string& suffix)
    : path_(std::move(path)),
      partial_(path_.string() + suffix),
      file_(partial_, O_WRONLY | O_CREAT | O_TRUNC, 0666) {}  // narrowed by the umask

AtomicFile::~AtomicFile() {
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) { file_.write(bytes); }

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

}  // namespace penstock
