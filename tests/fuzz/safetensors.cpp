#include "runtime/checkpoint/safetensors/safetensors.h"

#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/safetensors/safetensors_header.h"
#include "tests/fuzz/parts.h"
#include "tests/fuzz/readers.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::test {

void read_safetensors_file(std::string_view bytes) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.safetensors";
  write_file(path, bytes);
  expect_answer([&] {
    const runtime::SafetensorsFile file(path);
    for (const runtime::SafetensorsEntry& entry : file.entries()) {
      (void)runtime::xxh3_128(file.bytes(entry));
      expect_answer([&] { (void)file.tensor(entry.name); });
    }
  });
}

// A file's length and its header's length must fit each other. Here the first two bytes are the
// length of the data, so that most inputs reach the header.
void read_safetensors_header(std::string_view bytes) {
  const std::size_t high = take_byte(bytes), low = take_byte(bytes);
  const std::size_t begin = runtime::kLengthBytes + bytes.size();
  expect_answer(
      [&] { (void)runtime::parse_safetensors_header(bytes, begin, begin + high * 256 + low); });
}

}  // namespace penstock::test
