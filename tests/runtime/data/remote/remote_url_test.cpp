#include "runtime/data/remote/remote_url.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

TEST(RemoteUrl, PlacesFollowFromUrlsAndBack) {
  for (const auto& [url, place] : std::initializer_list<std::pair<const char*, const char*>>{
           {"s3://bucket/a/b c.wav", "s3/bucket/a/b c.wav"},
           {"gs://bucket/odd?#name.wav", "gs/bucket/odd?#name.wav"},
           {"https://host:8/a%20b.wav?download=true", "https/host:8/a%20b.wav?download=true"},
           {"s3://bucket", "s3/bucket"}}) {
    EXPECT_EQ(mirrored_path(url), place);
    EXPECT_EQ(mirrored_url(place), url);
  }
  EXPECT_EQ(mirrored_path("s3://bucket/folder/"), "s3/bucket/folder");
  EXPECT_EQ(mirrored_path("https://host/a.wav#part"), "https/host/a.wav");
  EXPECT_EQ(mirrored_path("https://host/a?to=/x"), "https/host/a?to=%2Fx");
}

TEST(RemoteUrl, NamesAreEscapedForTheWeb) {
  EXPECT_EQ(mirrored_url("https/host/a b/ä%20.wav"), "https://host/a%20b/%C3%A4%20.wav");
}

TEST(RemoteUrl, PlainTextGoesToThisMachineAlone) {
  EXPECT_EQ(mirrored_path("http://127.0.0.1:80/a"), "http/127.0.0.1:80/a");
  const std::string fault =
      test::message_of<ConfigError>([] { (void)mirrored_path("http://host/a?secret"); });
  EXPECT_EQ(fault, "http://host/a: anyone between could change what http:// brings: use https://");
  EXPECT_THROW((void)mirrored_path("http://127.0.0.1.host/a"), ConfigError);
}

TEST(RemoteUrl, NoPartLeavesTheMirror) {
  for (const char* url :
       {"s3://bucket/../../x", "s3://bucket/a//b", "s3://bucket/./a", "https://../x", "https:///x",
        "https://me:word@host/x", "s3://../x", "ftp://host/x"})
    EXPECT_THROW((void)mirrored_path(url), ConfigError) << url;
  EXPECT_THROW((void)mirrored_path("https://host/" + std::string(256, 'a')), ConfigError);
}

TEST(RemoteUrl, AJoinedUrlIsFound) {
  EXPECT_EQ(url_within("/data/s3://bucket/a.wav"), "s3://bucket/a.wav");
  EXPECT_EQ(url_within("https://host/a.wav"), "https://host/a.wav");
  EXPECT_EQ(url_within("/data/a:b/c.wav"), "");
  EXPECT_EQ(url_within("/data/ftp://host/c.wav"), "");
}

TEST(RemoteUrl, MessagesHaveUrlsWithoutQueries) {
  EXPECT_EQ(with_urls("/c/s3/b/x?.wav: bad, /c/https/h/y?sig=1: bad, /d/s3/z", "/c"),
            "s3://b/x?.wav: bad, https://h/y: bad, /d/s3/z");
}

}  // namespace
}  // namespace penstock::runtime
