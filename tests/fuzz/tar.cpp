#include "runtime/data/manifest/tar.h"

#include <string>

#include "runtime/data/manifest/tar_listings.h"
#include "tests/fuzz/readers.h"
#include "tests/fuzz/repaired_tar.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::test {

void read_tar_file(std::string_view bytes) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.tar";
  for (const std::string& file : {std::string(bytes), repaired_tar(bytes)}) {
    write_file(path, file);
    const runtime::FileRange tar(path);
    expect_answer([&] {
      runtime::for_each_entry(tar, [&](const runtime::TarEntry& entry) {
        (void)runtime::holds(tar, {path, entry.first, entry.bytes, entry.name});
        (void)tar.read(entry.first, entry.bytes);
      });
    });
    std::vector<std::filesystem::path> sources;
    runtime::TarListings listings(sources);
    expect_answer([&] { (void)listings.get(path, "a.wav"); });
  }
}

}  // namespace penstock::test
