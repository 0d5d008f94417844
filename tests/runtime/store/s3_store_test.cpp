#include "runtime/store/s3_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/store/store_error.h"
#include "tests/support/store/store_server.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using test::bytes;

class ObjectStore : public testing::Test {
 protected:
  void SetUp() override {
    if (!server_.missing().empty()) GTEST_SKIP() << server_.missing();
  }
  test::StoreServer server_;
};

// The proxy computes each signature with botocore, as S3 does: from the decoded path and query.
TEST_F(ObjectStore, SignsEveryKindOfKey) {
  S3Store store = server_.store();
  for (const std::string key : {"plain", "a b+c=d&e?f#g%h/i*j'k(l)/é~:@,;$!", "x//y/./z"}) {
    store.put(key, bytes(key));
    EXPECT_EQ(store.get(key), key);
    EXPECT_EQ(store.head(key)->bytes, key.size());
  }
  EXPECT_EQ(store.list("a b+c=d&e?").size(), 1U);
  store.remove("plain");
  EXPECT_FALSE(store.head("plain"));
  EXPECT_FALSE(store.get("plain"));
  store.remove("plain");
}

TEST_F(ObjectStore, SignsATemporaryToken) {
  (void)server_.store();
  StoreSettings settings = server_.settings();
  settings.credentials.session_token = "a/token+with=signs";
  S3Store store({StoreKind::s3, "bucket"}, settings);
  store.put("key", bytes("text"));
  EXPECT_EQ(store.get("key"), "text");
}

TEST_F(ObjectStore, WritesNewObjectsOnlyOnce) {
  S3Store store = server_.store();
  EXPECT_TRUE(store.put_new("key", bytes("first")));
  EXPECT_FALSE(store.put_new("key", bytes("second")));
  EXPECT_EQ(store.get("key"), "first");
}

TEST_F(ObjectStore, ListsEveryPage) {
  S3Store store = server_.store();
  for (int i = 0; i < 7; ++i) store.put("many/" + std::to_string(i), bytes("x"));
  EXPECT_EQ(store.list("many/", 3).size(), 7U);
}

TEST_F(ObjectStore, NamesWrongKeysAndMissingBuckets) {
  (void)server_.store();
  const auto start = std::chrono::steady_clock::now();
  const auto message = [&](const char* bucket, const Credentials& keys) {
    StoreSettings settings = server_.settings();
    if (!keys.access_key.empty()) settings.credentials = keys;
    return test::message_of<StoreError>([&] {
      S3Store({StoreKind::s3, bucket}, settings).probe("run");
    });
  };
  EXPECT_NE(message("bucket", {"WRONG", "x"}).find("403 InvalidAccessKeyId"), std::string::npos);
  const std::string wrong = message("bucket", {server_.settings().credentials.access_key, "hush"});
  EXPECT_NE(wrong.find("s3://bucket/run: "), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("Check AWS_ACCESS_KEY_ID and"), std::string::npos) << wrong;
  EXPECT_EQ(wrong.find("hush"), std::string::npos) << wrong;
  const std::string absent = message("nowhere", {});
  EXPECT_NE(absent.find("There is no bucket 'nowhere' there: create it"), std::string::npos)
      << absent;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST_F(ObjectStore, ReadsPublicBucketsWithoutKeys) {
  S3Store own = server_.store();
  own.put("open/a", bytes("text"));
  own.put("shut/a", bytes("text"));
  server_.make_public("(GET|HEAD) /bucket/(open/|[?].*prefix=open)");
  StoreSettings settings = server_.settings();
  settings.credentials = {};
  S3Store anyone({StoreKind::s3, "bucket"}, settings);
  EXPECT_EQ(anyone.get("open/a"), "text");
  EXPECT_EQ(anyone.head("open/a")->bytes, 4U);
  EXPECT_EQ(anyone.list("open/").size(), 1U);
  for (const auto& refused : std::vector<std::function<void()>>{
           [&] { (void)anyone.get("shut/a"); }, [&] { (void)anyone.list("shut/"); },
           [&] { anyone.put("open/b", bytes("x")); }}) {
    const std::string message = test::message_of<StoreError>(refused);
    EXPECT_NE(message.find("403 AccessDenied"), std::string::npos) << message;
    EXPECT_NE(message.find("The request had no keys"), std::string::npos) << message;
    EXPECT_NE(message.find("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), std::string::npos)
        << message;
  }
}

TEST_F(ObjectStore, NamesFolders) {
  S3Store store = server_.store();
  for (const char* key : {"one/a", "one/b/c", "two/a", "three"}) store.put(key, bytes("x"));
  EXPECT_EQ(store.folders(""), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(store.folders("one/"), (std::vector<std::string>{"b"}));
  EXPECT_TRUE(store.folders("three/").empty());
}

TEST_F(ObjectStore, RepeatsWhatFails) {
  S3Store store = server_.store();
  server_.set_faults({{"seed", 3},
                      {"most", 20},
                      {"chances",
                       {{"refuse", 0.1},
                        {"half", 0.1},
                        {"lost", 0.1},
                        {"truncate", 0.1},
                        {"corrupt", 0.1},
                        {"500", 0.1},
                        {"503", 0.1}}}});
  for (int i = 0; i < 12; ++i) {
    const std::string key = "key" + std::to_string(i), text(1000 + i, 'a');
    // If an answer is lost, its repetition finds the object.
    if (!store.put_new(key, bytes(text))) store.put(key, bytes(text));
    EXPECT_EQ(store.get(key), text);
  }
  EXPECT_EQ(store.list("key").size(), 12U);
  EXPECT_EQ(server_.faults(), 20);
}

TEST_F(ObjectStore, AnErrorThatLastsIsTold) {
  S3Store store = server_.store(0.5);
  server_.set_faults({{"chances", {{"503", 1}}}});
  const std::string message =
      test::message_of<StoreError>([&] { store.put("key", bytes("text")); });
  EXPECT_NE(message.find("answered PUT with 503 SlowDown"), std::string::npos) << message;
}

}  // namespace
}  // namespace penstock::runtime
