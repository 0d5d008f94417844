#include "runtime/data/manifest/tar_member.h"

#include <gtest/gtest.h>

namespace penstock::runtime {
namespace {

TEST(TarMember, IsSpelledAsAPath) {
  for (const TarMember& member :
       {TarMember{"/a/b.tar", 512, 1, "c.wav"}, TarMember{"b.tar", 1LL << 40, 1LL << 33, "d/e.wav"},
        TarMember{"x.tar:y.tar", 1536, 7, "z.tar:1+2:q"},
        TarMember{"b.tar", 512, 0, "a:b c.wav"}}) {
    EXPECT_EQ(tar_member(path_of(member).native()), member) << path_of(member);
    EXPECT_EQ(file_holding(path_of(member)), member.tar);
    EXPECT_EQ(manifest_name(path_of(member)), member.tar.string() + ":" + member.name);
  }
  EXPECT_EQ(path_of({"s/a.tar", 1536, 64044, "x.wav"}), "s/a.tar:1536+64044:x.wav");
}

TEST(TarMember, IsNoOtherPath) {
  for (const char* path : {"a.wav", "a.tar", "a.tar:b.wav", "a.tar:12:b.wav", "a.tar:1+:b",
                           "a.tar:-1+2:b", "a.tar:1+2", "a.tgz:1+2:b"}) {
    EXPECT_EQ(tar_member(path), std::nullopt) << path;
    EXPECT_EQ(file_holding(path), path);
    EXPECT_EQ(manifest_name(path), path);
  }
}

TEST(TarMember, IsToldFromItsTar) {
  using Parts = std::pair<std::string, std::string>;
  EXPECT_EQ(split_member("d:1/a.tar:b/c:d.wav"), (Parts{"d:1/a.tar", "b/c:d.wav"}));
  EXPECT_EQ(split_member("a.tar.gz:b.wav"), (Parts{"a.tar.gz", "b.wav"}));
  EXPECT_EQ(split_member("a.tar"), std::nullopt);
  EXPECT_EQ(split_member("a.target:b.wav"), std::nullopt);
}

}  // namespace
}  // namespace penstock::runtime
