#include "tests/support/runtime/tar_writer.h"

#include <fmt/format.h>

namespace penstock::test {

std::string tar_header(const TarFields& fields) {
  std::string block(512, '\0');
  const auto put = [&](std::size_t at, const std::string& text) {
    block.replace(at, text.size(), text);
  };
  put(0, fields.name.substr(0, 100));
  put(100, "0000644");
  put(124, fmt::format("{:011o}", fields.large_size ? 0 : fields.bytes));
  if (fields.large_size) {
    block[124] = static_cast<char>(0x80);
    for (int i = 0; i < 8; ++i) block[135 - i] = static_cast<char>(fields.bytes >> (8 * i) & 0xff);
    for (int i = 125; i < 128; ++i) block[i] = '\0';
  }
  put(148, "        ");
  block[156] = fields.type;
  put(157, fields.target.substr(0, 100));
  put(257, std::string("ustar\0"
                       "00",
                       8));
  put(345, fields.prefix);
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return block;
}

std::string pax_record(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  std::size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

std::string in_blocks(const std::string& bytes) {
  return bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
}

}  // namespace penstock::test
