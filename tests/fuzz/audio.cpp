#include "runtime/data/audio/audio.h"

#include <algorithm>
#include <string>

#include "runtime/data/manifest/tar_member.h"
#include "tests/fuzz/readers.h"
#include "tests/support/runtime/tar_writer.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::test {

// A recording is read as a file and as a member of a tar, which libsndfile reads by other calls.
void read_audio_file(std::string_view bytes) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "a.wav", tar = folder.path() / "a.tar";
  write_file(file, bytes);
  write_file(tar, TarWriter().add("a.wav", std::string(bytes)).bytes());
  const auto member = runtime::path_of({tar, 512, std::ssize(bytes), "a.wav"});
  for (const auto& recording : {file, member}) {
    expect_answer([&] {
      const runtime::AudioLength length = runtime::audio_length(recording);
      const std::int64_t middle = length.samples / 2;
      (void)runtime::read_audio(recording,
                                {middle, std::min<std::int64_t>(2, length.samples - middle)});
    });
    expect_answer([&] { (void)runtime::read_audio(recording); });
  }
}

}  // namespace penstock::test
