#include "runtime/data/whole_file.h"

#include <unistd.h>

#include <fstream>
#include <string>
#include <system_error>

namespace penstock {

bool write_whole_file(const std::filesystem::path& file, std::string_view text) {
  std::filesystem::path temporary = file;
  temporary += ".new-" + std::to_string(getpid());
  std::error_code error;
  std::ofstream out(temporary, std::ios::binary);
  out << text;
  out.close();
  if (out) std::filesystem::rename(temporary, file, error);
  const bool written = out && !error;
  if (!written) std::filesystem::remove(temporary, error);
  return written;
}

}  // namespace penstock
