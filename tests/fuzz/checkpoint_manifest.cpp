#include <string>

#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/manifest.h"
#include "tests/fuzz/readers.h"

namespace penstock::test {
namespace {

/// Returns the text as a manifest that has its hash, which is all that a text needs to be parsed.
std::string with_hash(std::string_view text) {
  constexpr std::string_view kOpening = "{\n \"hash\": \"";
  constexpr std::size_t kDigits = 32;
  const std::size_t rest = kOpening.size() + kDigits;
  std::string whole = std::string(kOpening) + std::string(kDigits, '0');
  whole += text.size() > rest ? text.substr(rest) : "\"}";
  whole.replace(kOpening.size(), kDigits, runtime::xxh3_128(whole));
  return whole;
}

}  // namespace

// A manifest that was accepted is written again, as resumption does.
void read_checkpoint_manifest(std::string_view bytes) {
  expect_answer([&] { (void)runtime::parse_manifest(bytes); });
  expect_answer([&] { (void)runtime::to_text(runtime::parse_manifest(with_hash(bytes))); });
  expect_answer([&] { (void)runtime::parse_shard_index(bytes); });
}

}  // namespace penstock::test
