#include <gtest/gtest.h>

#include "base/error.h"
#include "configs/load.h"
#include "configs/rules.h"
#include "layers/models/families.h"

namespace penstock::configs {
namespace {

DataConfig data_of(std::vector<std::string> overrides) {
  return load_config("", layers::model_families(), overrides).data;
}

std::string fault_of(std::vector<std::string> overrides) try {
  (void)data_of(std::move(overrides));
  return "";
} catch (const ConfigError& error) {
  return error.what();
}

void expect(const DataConfig& data, double seconds, int number) {
  EXPECT_DOUBLE_EQ(data.micro_batch_seconds, seconds);
  EXPECT_EQ(data.micro_batches, number);
}

TEST(StepAudio, IsDividedAsOneKeyAsks) {
  expect(data_of({}), 32, 4);
  expect(data_of({"data.batch_seconds=90", "data.micro_batch_seconds=15"}), 15, 6);
  expect(data_of({"data.batch_seconds=90", "data.micro_batches=4"}), 22.5, 4);
  expect(data_of({"data.batch_seconds=0.3", "data.micro_batch_seconds=0.1"}), 0.1, 3);
}

TEST(StepAudio, IsDividedEvenlyWhereNobodyAsks) {
  expect(data_of({"data.batch_seconds=128"}), 32, 4);
  expect(data_of({"data.batch_seconds=100"}), 25, 4);
  expect(data_of({"data.batch_seconds=7"}), 7, 1);
  expect(data_of({"data.batch_seconds=90", "trainer.lanes=5"}), 18, 5);
  expect(data_of({"data.batch_seconds=90", "pipeline.replicas=6"}), 15, 6);
}

TEST(StepAudio, RefusesWhatContradictsIt) {
  EXPECT_EQ(
      fault_of({"data.batch_seconds=90", "data.micro_batch_seconds=15", "data.micro_batches=6"}),
      "");
  const auto three =
      fault_of({"data.batch_seconds=90", "data.micro_batch_seconds=15", "data.micro_batches=7"});
  for (const char* said : {"data.batch_seconds = 90", "data.micro_batches = 7",
                           "data.micro_batch_seconds = 15", "105 s"})
    EXPECT_NE(three.find(said), std::string::npos) << three;
  const auto ragged = fault_of({"data.batch_seconds=100", "data.micro_batch_seconds=15"});
  for (const char* said : {"no multiple of data.micro_batch_seconds = 15", "set it to 90",
                           "data.micro_batches instead"})
    EXPECT_NE(ragged.find(said), std::string::npos) << ragged;
  EXPECT_NE(fault_of({"data.batch_seconds=5", "data.micro_batch_seconds=15"}).find("set it to 15"),
            std::string::npos);
}

/// A checkpoint holds what is divided, and its keys are read again.
TEST(StepAudio, RefusesWhatItsKeysWould) {
  EXPECT_NE(fault_of({"data.batch_seconds=700000", "data.micro_batch_seconds=10"})
                .find("holds more than 65536 micro-batches of 10 s"),
            std::string::npos);
  EXPECT_NE(fault_of({"data.batch_seconds=128", "data.micro_batch_seconds=1e-9"})
                .find("holds more than 65536 micro-batches of 1e-09 s"),
            std::string::npos);
  EXPECT_NE(fault_of({"data.batch_seconds=100000", "data.micro_batches=1"})
                .find("in 1 micro-batch makes them longer than 86400 s"),
            std::string::npos);
  EXPECT_EQ(fault_of({"data.batch_seconds=655360", "data.micro_batch_seconds=10"}), "");
}

TEST(StepAudio, IsHeldButForRounding) {
  EXPECT_TRUE(holds_step(100, 100.0 / 3, 3));
  EXPECT_TRUE(holds_step(128, 128.0 / 12, 12));
  EXPECT_FALSE(holds_step(128, 10.66, 12));
}

}  // namespace
}  // namespace penstock::configs
