#include <string>

#include "runtime/data/manifest/manifest.h"
#include "tests/fuzz/parts.h"
#include "tests/fuzz/readers.h"
#include "tests/fuzz/repaired_tar.h"
#include "tests/support/runtime/tar_writer.h"
#include "tests/support/system/temporary_folder.h"

// A manifest's format follows from its name and from what lies beside it. So the bytes are written
// under each name that makes one, and the formats whose folders have several texts take them apart
// at NULs.

namespace penstock::test {
namespace {

void read_as_manifest(const std::filesystem::path& manifest) {
  expect_answer([&] {
    runtime::Faults faults;
    (void)runtime::read_manifest(manifest, faults);
    (void)faults.listed();
  });
}

void write_shard(const std::filesystem::path& folder) {
  write_file(folder / "audio_0.tar", TarWriter().add("a.wav", "sound").add("b.txt", "").bytes());
}

}  // namespace

void read_manifest_of_json(std::string_view bytes) {
  const TemporaryFolder folder;
  write_file(folder.path() / "tarred_audio_manifest.json", bytes);
  write_shard(folder.path());
  read_as_manifest(folder.path() / "tarred_audio_manifest.json");
  read_as_manifest(folder.path() / "tarred_audio_manifest.json:S");  // a subset of GigaSpeech
  read_as_manifest(folder.path());
}

void read_manifest_of_table(std::string_view bytes) {
  const TemporaryFolder folder;
  write_shard(folder.path());
  write_file(folder.path() / "a.wav", "sound");
  for (const char* name : {"a.csv", "a.tsv"}) {
    write_file(folder.path() / name, bytes);
    read_as_manifest(folder.path() / name);
  }
}

void read_manifest_of_folder(std::string_view bytes) {
  for (const char* name :
       {"metadata.csv", "84-121123.trans.txt", "a.txt", "transcripts.txt", "a.stm"}) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder.path() / "audio");  // a sign of MLS
    write_file(folder.path() / "a.wav", "sound");
    write_file(folder.path() / name, bytes);
    read_as_manifest(folder.path());
  }
}

void read_manifest_of_kaldi(std::string_view bytes) {
  const TemporaryFolder folder;
  write_file(folder.path() / "wav.scp", take_part(bytes));
  write_file(folder.path() / "text", take_part(bytes));
  if (!bytes.empty()) write_file(folder.path() / "segments", bytes);
  read_as_manifest(folder.path());
}

void read_manifest_of_tar(std::string_view bytes) {
  const TemporaryFolder folder;
  for (const std::string& tar : {std::string(bytes), repaired_tar(bytes)}) {
    write_file(folder.path() / "a.tar", tar);
    read_as_manifest(folder.path() / "a.tar");
  }
  read_as_manifest(folder.path());
}

void read_manifest_of_lhotse(std::string_view bytes) {
  const TemporaryFolder folder;
  write_file(folder.path() / "x_recordings.jsonl", take_part(bytes));
  write_file(folder.path() / "x_supervisions.jsonl", take_part(bytes));
  write_file(folder.path() / "x_cuts.jsonl", bytes);
  for (const char* name : {"x_recordings.jsonl", "x_supervisions.jsonl", "x_cuts.jsonl"})
    read_as_manifest(folder.path() / name);
  read_as_manifest(folder.path());
}

void read_compressed_manifest(std::string_view bytes) {
  const TemporaryFolder folder;
  write_file(folder.path() / "x.jsonl.gz", bytes);
  read_as_manifest(folder.path() / "x.jsonl.gz");
}

}  // namespace penstock::test
