#include "base/proto_writer.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using namespace std::string_literals;

/// The examples of https://protobuf.dev/programming-guides/encoding.
TEST(ProtoWriter, WritesTheExamplesOfTheSpecification) {
  ProtoWriter number, text, outer;
  number.number(1, 150);
  text.text(2, "testing");
  outer.text(3, number.done());
  EXPECT_EQ(number.done(), "\x08\x96\x01");
  EXPECT_EQ(text.done(), "\x12\x07testing");
  EXPECT_EQ(outer.done(), "\x1a\x03\x08\x96\x01");
}

TEST(ProtoWriter, WritesNumbersOfEveryLength) {
  const auto written = [](std::uint64_t value) {
    ProtoWriter writer;
    writer.number(1, value);
    return writer.done().substr(1);
  };
  EXPECT_EQ(written(0), "\0"s);
  EXPECT_EQ(written(127), "\x7f");
  EXPECT_EQ(written(128), "\x80\x01");
  EXPECT_EQ(written(1ull << 63), std::string(9, '\x80') + "\x01");
  EXPECT_EQ(written(static_cast<std::uint64_t>(-1)), std::string(9, '\xff') + "\x01");
}

TEST(ProtoWriter, BeginsAMessageThatFollowsElsewhere) {
  ProtoWriter whole, begin;
  whole.text(3, std::string(200, 'a'));
  begin.begin(3, 200);
  EXPECT_EQ(begin.done() + std::string(200, 'a'), whole.done());
}

TEST(ProtoWriter, WritesTheNumberOfALateField) {
  ProtoWriter writer;
  writer.number(16, 1);
  EXPECT_EQ(writer.done(), "\x80\x01\x01");
}

TEST(ProtoWriter, WritesRealsWithTheirLowestByteFirst) {
  ProtoWriter writer;
  writer.real(1, 1.0f);
  writer.real(2, -2.0);
  EXPECT_EQ(writer.done(), "\x0d\0\0\x80\x3f\x11\0\0\0\0\0\0\0\xc0"s);
}

}  // namespace
}  // namespace penstock
