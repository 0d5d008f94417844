#include "base/scratch_file.h"

#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "base/file_handle.h"

namespace penstock {

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

MappedFile ScratchFile::map() {
  if (std::fflush(file_.get()) != 0) raise_errno(path_, "can't be written");
  return {::fileno(file_.get()), path_};
}

}  // namespace penstock
