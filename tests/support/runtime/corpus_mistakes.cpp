#include "tests/support/runtime/corpus_mistakes.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "runtime/data/manifest/summary.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::test {
namespace {

namespace fs = std::filesystem;

void lay_out(const fs::path& folder, const CorpusFiles& files) {
  for (const auto& [name, bytes] : files) {
    fs::create_directories((folder / name).parent_path());
    write_file(folder / name, bytes);
  }
}

runtime::ManifestSummary verify(const fs::path& manifest) {
  return runtime::summarise(manifest,
                            {.threads = 1, .use = runtime::IndexUse::fresh, .warns_unkept = false});
}

/// Returns what `penstock data verify` says; "" if the manifest is accepted.
std::string refusal(const fs::path& manifest) {
  try {
    const runtime::ManifestSummary summary = verify(manifest);
    if (!summary.rejected.empty()) return summary.rejected.listed();
    return summary.utterances == 0 ? "holds no utterances" : "";
  } catch (const DataError& error) {
    return error.what();
  }
}

}  // namespace

void expect_accepted(const CorpusFiles& corpus, const std::string& typed, std::int64_t utterances) {
  const TemporaryFolder folder;
  lay_out(folder.path(), corpus);
  EXPECT_EQ(refusal(folder.path() / typed), "") << typed;
  EXPECT_EQ(verify(folder.path() / typed).utterances, utterances) << typed;
}

void expect_refused(const CorpusFiles& corpus, const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    const TemporaryFolder folder;
    lay_out(folder.path(), corpus);
    lay_out(folder.path(), mistake.changed);
    for (const auto& name : mistake.removed) fs::remove_all(folder.path() / name);
    for (const auto& [name, target] : mistake.links)
      fs::create_symlink(target, folder.path() / name);
    const std::string message = refusal(folder.path() / mistake.typed);
    ASSERT_FALSE(mistake.said.empty());
    for (const std::string& part : mistake.said)
      EXPECT_NE(message.find(part), std::string::npos)
          << mistake.typed << ": \"" << part << "\" is not in: " << message;
  }
}

std::string sound_bytes() {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "a.wav";
  (void)write_sound(file, make_sound(8000), {0x010002, 8000});
  return read_file(file);
}

std::string web_page() {
  return "<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head></html>\n";
}

std::string lfs_pointer() {
  return "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22e"
         "\nsize 1234567\n";
}

std::string in_utf16(const std::string& text) {
  std::string wide = "\xff\xfe";
  for (const char letter : text) wide += {letter, '\0'};
  return wide;
}

}  // namespace penstock::test
