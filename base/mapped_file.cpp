#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>

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

// madvise() takes whole pages, so the part begins where its first page does.
void MappedFile::forget(std::string_view part) const {
  if (part.empty()) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t before = reinterpret_cast<std::uintptr_t>(part.data()) % page;
  ::madvise(const_cast<char*>(part.data()) - before, before + part.size(), MADV_DONTNEED);
}

MappedFile map_file(const std::filesystem::path& path) {
  const FileHandle file(path, O_RDONLY | O_NONBLOCK);  // opening a pipe must not wait
  struct stat status = {};
  if (::fstat(file.descriptor(), &status) != 0) raise_errno(path, "can't be examined");
  if (!S_ISREG(status.st_mode))
    throw FileError(path, fmt::format("{}: not a regular file", path.string()),
                    std::errc::no_such_file_or_directory);
  return {file.descriptor(), path};
}

// The file is unlinked at once, so nothing is left over in the folder however the process ends. The
// descriptor and the mappings keep the data until then.
ScratchFile::ScratchFile() {
  std::error_code error;
  auto folder = std::filesystem::temp_directory_path(error);
  if (error) folder = "/tmp";  // TMPDIR names a folder that does not exist
  std::string name = (folder / "penstock-XXXXXX").string();
  const int descriptor = ::mkstemp(name.data());
  if (descriptor < 0) raise_errno(name, "no temporary file can be made");
  path_ = name;
  ::unlink(name.c_str());
  file_.reset(::fdopen(descriptor, "w+b"));
  if (!file_) {
    ::close(descriptor);
    raise_errno(path_, "can't be opened");
  }
}

void ScratchFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size())
    raise_errno(path_, "can't be written");
  size_ += bytes.size();
}

// The mapping has its own hold on the file, and outlives the descriptor.
MappedFile ScratchFile::map() {
  if (std::fflush(file_.get()) != 0) raise_errno(path_, "can't be written");
  return {::fileno(file_.get()), path_};
}

}  // namespace penstock
