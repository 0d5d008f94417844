#include "runtime/store/digest.h"

#include <gtest/gtest.h>

#include "tests/support/store/store_server.h"

namespace penstock::runtime {
namespace {

using test::bytes;

// The values are of FIPS 180-4's and RFC 1321's examples, and of RFC 4648's.
TEST(Digest, HasThePublishedValues) {
  EXPECT_EQ(sha256_hex(bytes("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(md5(bytes("message digest"))), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(to_base64(""), "");
}

}  // namespace
}  // namespace penstock::runtime
