#include "runtime/huggingface/kept_labels.h"

#include <gtest/gtest.h>

#include "runtime/huggingface/import.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

TEST(KeptLabels, GoWithTheLabels) {
  const test::TemporaryFolder output;
  for (const char* name : {"wav2vec2_for_ctc", "parakeet_for_ctc"}) {
    const auto imported = output.path() / name;
    import_model(test::source(std::string("tests/golden/") + name), imported);
    const Checkpoint checkpoint(imported);
    EXPECT_TRUE(keeps_labels(checkpoint));
    const PassthroughParts left = without_labels(read_kept(checkpoint));
    ASSERT_EQ(left.files.size(), 2u);
    EXPECT_EQ(left.files[0].file, "huggingface/config.json");
    EXPECT_EQ(left.files[1].file, "huggingface/preprocessor_config.json");
    EXPECT_FALSE(left.tensors.empty());
  }
  EXPECT_FALSE(
      keeps_labels(Checkpoint(test::source("tests/golden/checkpoint_0.1/checkpoint-000000004"))));
}

}  // namespace
}  // namespace penstock::runtime
