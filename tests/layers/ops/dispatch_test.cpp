#include "layers/ops/dispatch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layers/cpu/halves/half_backend.h"
#include "layers/ops/cast.h"
#include "layers/ops/norms.h"
#include "layers/ops/optimizer.h"

namespace penstock::layers {
namespace {

struct Double {
  int& number;
};
struct Negate {
  int& number;
};
struct Rest {};

using List = OperationList<Double, Negate, Rest>;

using Interface = OperationInterface<List>;

/// Computes.
class Device : public OperationDispatch<Device, Interface, List> {
 public:
  explicit Device(int number) : number_(number) {}
  int number() const { return number_; }

  void compute(Stream&, const Double& op) { op.number *= 2; }
  void compute(Stream&, const Negate& op) { op.number = -op.number; }
  void compute(Stream&, const Rest&) { ++rests; }
  int rests = 0;

 private:
  int number_;
};

/// Hands to another device what it has written down.
class Recorder final : public OperationDispatch<Recorder, Device, List> {
 public:
  using OperationDispatch::OperationDispatch;

  template <class Operation>
  void compute(Stream& stream, const Operation& op) {
    ++operations;
    Device::run(stream, op);
  }
  int operations = 0;
};

TEST(OperationDispatch, ReachesTheOperationOfTheArgument) {
  const auto stream = make_cpu_backend()->make_stream();
  Device device(3);
  Interface& interface = device;
  int number = 21;
  interface.run(*stream, Double{number});
  EXPECT_EQ(number, 42);
  interface.run(*stream, Negate{number});
  EXPECT_EQ(number, -42);
  interface.run(*stream, Rest{});
  EXPECT_EQ(device.rests, 1);
  EXPECT_EQ(device.number(), 3);
}

TEST(OperationDispatch, WrapsABackendThatComputes) {
  const auto stream = make_cpu_backend()->make_stream();
  Recorder recorder(3);
  Interface& interface = recorder;
  int number = 21;
  interface.run(*stream, Double{number});
  interface.run(*stream, Negate{number});
  EXPECT_EQ(number, -42);
  EXPECT_EQ(recorder.operations, 2);
  EXPECT_EQ(recorder.number(), 3) << "constructors are handed on";
}

TEST(OperationDispatch, KeepsOnePointerToVirtualFunctions) {
  EXPECT_EQ(sizeof(Interface), sizeof(void*));
  EXPECT_EQ(sizeof(OperationInterface<Operations>), sizeof(void*));
  EXPECT_EQ(sizeof(Backend), sizeof(void*));
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
