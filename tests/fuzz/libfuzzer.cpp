#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/readers.h"

// These functions are what libFuzzer calls. One program holds all readers, as linking takes longer
// than compiling them, and $PENSTOCK_FUZZ_READER names the one that gets the bytes.

namespace penstock::test {
namespace {

const ForeignReader& chosen_reader() {
  const char* const name = std::getenv("PENSTOCK_FUZZ_READER");
  const auto readers = foreign_readers();
  const auto found = name == nullptr
                         ? readers.end()
                         : std::ranges::find(readers, std::string_view(name), &ForeignReader::name);
  if (found != readers.end()) return *found;
  std::fputs("PENSTOCK_FUZZ_READER must name a reader:\n", stderr);
  for (const ForeignReader& reader : readers)
    std::fprintf(stderr, "  %.*s\n", static_cast<int>(reader.name.size()), reader.name.data());
  std::exit(2);
}

}  // namespace
}  // namespace penstock::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const penstock::test::ForeignReader& reader = penstock::test::chosen_reader();
  reader.read({reinterpret_cast<const char*>(data), size});
  return 0;
}

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  spdlog::set_level(spdlog::level::off);  // readers warn of much that is wrong here
  return 0;
}
