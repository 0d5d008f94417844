#include "runtime/job/packing.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace penstock::runtime {
namespace {

TEST(Packing, GivesBackWhatItTook) {
  Packer packer;
  packer.add(std::int64_t{-3});
  packer.add(std::string("a\0\xff b", 5));
  packer.add("");
  packer.add(std::numeric_limits<std::int64_t>::max());
  Unpacker unpacker(packer.bytes());
  EXPECT_EQ(unpacker.number(), -3);
  EXPECT_EQ(unpacker.text(), std::string("a\0\xff b", 5));
  EXPECT_EQ(unpacker.text(), "");
  EXPECT_FALSE(unpacker.empty());
  EXPECT_EQ(unpacker.number(), std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(unpacker.empty());
  EXPECT_THROW(unpacker.text(), std::out_of_range);
  EXPECT_TRUE(Unpacker("").empty());
}

}  // namespace
}  // namespace penstock::runtime
