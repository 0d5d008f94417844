#include "layers/ops/operation_table.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "layers/cpu/halves/half_backend.h"
#include "layers/ops/list.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::layers {
namespace {

struct Double {
  int& number;
};
struct Negate {
  int& number;
};

class Device : public CpuBackend {
 public:
  Device() : CpuBackend(1) { set_operations<Device>(operations_, OperationList<Double>{}); }
  void compute(Stream&, const Double& op) { op.number *= 2; }
};

/// Counts, and hands to the device that it derives from.
class Recorder final : public Device {
 public:
  Recorder() { operations_.set<Recorder, Double>(); }
  void compute(Stream& stream, const Double& op) {
    ++operations;
    Device::compute(stream, op);
  }
  int operations = 0;
};

TEST(OperationTable, RunsTheFunctionOfTheOperation) {
  Device device;
  int number = 21;
  device.run(*device.make_stream({}), Double{number});
  EXPECT_EQ(number, 42);
}

TEST(OperationTable, WrapsABackendThatComputes) {
  Recorder recorder;
  Backend& backend = recorder;
  int number = 21;
  backend.run(*backend.make_stream(), Double{number});
  EXPECT_EQ(number, 42);
  EXPECT_EQ(recorder.operations, 1);
}

TEST(OperationTable, NamesAMissingOperation) {
  Device device;
  int number = 21;
  const auto stream = device.make_stream({});
  const std::string message =
      test::message_of<DeviceError>([&] { device.run(*stream, Negate{number}); });
  EXPECT_NE(message.find("Negate"), std::string::npos) << message;
  EXPECT_NE(message.find("layers/ops/list.h"), std::string::npos) << message;
}

TEST(Operations, TakeHalvesWhereOperandsAreNamed) {
  EXPECT_TRUE(TakesHalves<LinearForward>);
  EXPECT_TRUE(TakesHalves<CtcLoss>);
  EXPECT_FALSE(TakesHalves<BatchNormBackwardWeight>) << "statistics are FP32";
  EXPECT_FALSE(TakesHalves<AdamWStep>) << "masters are FP32";
  EXPECT_FALSE(TakesHalves<Cast>) << "converts by itself";
}

}  // namespace
}  // namespace penstock::layers
