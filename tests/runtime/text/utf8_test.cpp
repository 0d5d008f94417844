#include "runtime/text/utf8.h"

#include <gtest/gtest.h>

#include "layers/tensor/error.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

TEST(FromUtf8, GivesCodePoints) { EXPECT_EQ(from_utf8("aß\u20ac"), U"aß\u20ac"); }

TEST(FromUtf8, NamesTheWrongByte) {
  EXPECT_EQ(test::message_of<DataError>([] { from_utf8("ä\xff"); }),
            "not UTF-8 at byte 2 of a text");
}

}  // namespace
}  // namespace penstock
