#include "runtime/huggingface/text_file.h"

#include <span>

#include "runtime/checkpoint/mapped_file.h"

namespace penstock::runtime {

std::string text_of_file(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  const std::span<const std::byte> bytes = mapped.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace penstock::runtime
