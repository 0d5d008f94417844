#include <cstring>
#include <string>

#include "runtime/data/index/index_journal.h"
#include "runtime/data/index/index_layout.h"
#include "runtime/data/index/utterance_index.h"
#include "tests/fuzz/readers.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::test {
namespace {

/// Returns the bytes as an index whose trailer has its hashes.
std::string with_hashes(std::string_view bytes) {
  runtime::IndexTrailer trailer;
  std::string whole(bytes);
  if (bytes.size() < sizeof trailer) return whole;
  char* const at = whole.data() + whole.size() - sizeof trailer;
  std::memcpy(&trailer, at, sizeof trailer);
  std::memcpy(trailer.magic, runtime::IndexTrailer().magic, sizeof trailer.magic);
  trailer.content = runtime::hash_of(bytes.substr(0, bytes.size() - sizeof trailer));
  trailer.check = runtime::check_of(trailer);
  std::memcpy(at, &trailer, sizeof trailer);
  return whole;
}

/// Asks for all that an index tells. Each answer checks the bytes that it follows by itself, so
/// they are asked for also where the index contradicts itself.
void use(const runtime::UtteranceIndex& index) {
  (void)index.intact();
  (void)index.contradiction();
  expect_answer([&] { (void)index.faults(); });
  expect_answer([&] { (void)index.sources(); });
  for (std::size_t u = 0; u < index.size(); ++u) {
    (void)index.length(u);
    (void)index.first(u);
    expect_answer([&] { (void)index.duration(u); });
    expect_answer([&] { (void)std::string(index.text(u)); });
    expect_answer([&] { (void)std::string(index.where(u)); });
    expect_answer([&] { (void)std::string(index.path(u)); });
  }
  for (const runtime::IndexedRecording& recording : index.recordings())
    expect_answer([&] { (void)std::string(index.path(recording)); });
}

}  // namespace

void read_index_file(std::string_view bytes) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.index";
  for (const std::string& file : {std::string(bytes), with_hashes(bytes)}) {
    write_file(path, file);
    expect_answer([&] {
      if (const auto index = runtime::UtteranceIndex::open(path)) use(*index);
    });
  }
  write_file(path, bytes);
  runtime::KnownLengths known;
  expect_answer([&] { runtime::read_journal(path, known); });
}

}  // namespace penstock::test
