#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/file_handle.h"

namespace penstock {

MappedFile::MappedFile(int descriptor, const std::filesystem::path& path) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) raise_errno(path, "can't be read");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;  // mmap refuses an empty file
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) raise_errno(path, "can't be mapped");
  bytes_ = {static_cast<const char*>(mapped), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

void MappedFile::forget(std::string_view part) const {
  ::madvise(const_cast<char*>(part.data()), part.size(), MADV_DONTNEED);
}

MappedFile map_file(const std::filesystem::path& path) {
  const FileHandle file(path, O_RDONLY);
  return {file.descriptor(), path};
}

}  // namespace penstock
