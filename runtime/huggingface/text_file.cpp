#include "runtime/huggingface/text_file.h"

#include <fmt/format.h>

#include <span>
#include <system_error>

#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/mapped_file.h"

namespace penstock::runtime {

std::string text_of_file(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  const std::span<const std::byte> bytes = mapped.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  const bool found = std::filesystem::exists(path, error);
  if (error) throw_fault(path, fmt::format("can't be examined: {}", error.message()));
  return found;
}

}  // namespace penstock::runtime
