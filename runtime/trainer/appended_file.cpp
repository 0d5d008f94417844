#include "runtime/trainer/appended_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <span>
#include <utility>

namespace penstock::runtime {

AppendedFile::AppendedFile(const std::filesystem::path& file, int flags, std::string unit,
                           Note note)
    : file_(file, O_WRONLY | O_APPEND | flags), unit_(std::move(unit)), note_(std::move(note)) {}

// write() shortens `bytes` to what is missing, so bytes that were cut in the middle go on there.
void AppendedFile::append(std::string_view bytes) {
  const bool lacked = !left_.empty();
  left_ += bytes;
  std::span<const std::byte> rest = std::as_bytes(std::span(left_));
  std::string fault;
  try {
    file_.write(rest);
  } catch (const FileError& error) {
    fault = error.what();
  }
  left_.erase(0, left_.size() - rest.size());
  if (!note_ || lacked == !left_.empty()) return;
  note_(lacked ? fmt::format("{} has all {} again", path().string(), unit_)
               : fmt::format("{}. Its {} are kept until it can", fault, unit_));
}

}  // namespace penstock::runtime
