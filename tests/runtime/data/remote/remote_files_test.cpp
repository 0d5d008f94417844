#include "runtime/data/remote/remote_files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

#include "base/error.h"
#include "runtime/data/manifest/tar_member.h"
#include "runtime/store/store_error.h"
#include "runtime/store/transfer.h"
#include "tests/support/runtime/tar_writer.h"
#include "tests/support/store/store_server.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

std::string random_text(std::size_t size, unsigned seed = 7) {
  std::mt19937 random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

RemoteFilesOptions remote_options(const fs::path& cache, std::uint64_t bytes = 64 << 20) {
  RemoteFilesOptions options{.cache = cache, .bytes = bytes};
  for (HttpOptions* each : {&options.first, &options.later})
    each->retries = {.first = std::chrono::milliseconds(5),
                     .longest = std::chrono::milliseconds(20),
                     .seconds = 5};
  return options;
}

/// Returns the bytes of what is opened, of a tar's member its range.
std::string text_of(const LocalFile& file) {
  const auto member = tar_member(file.path.native());
  if (!member) return test::read_file(file.path);
  return test::read_file(member->tar).substr(member->first, member->bytes);
}

/// Objects of moto's store, behind the proxy that makes faults.
class RemoteObjects : public testing::Test {
 protected:
  void SetUp() override {
    if (!server_.missing().empty()) GTEST_SKIP() << server_.missing();
    store_.emplace(server_.store());
    server_.set_environment();
  }
  RemoteFiles files(std::uint64_t bytes = 64 << 20) const {
    return RemoteFiles(remote_options(folder_.path(), bytes));
  }
  void put(const std::string& key, const std::string& text) { store_->put(key, test::bytes(text)); }
  int requests() const { return server_.counts()["requests"]; }

  test::StoreServer server_;
  test::TemporaryFolder folder_;
  std::optional<S3Store> store_;
};

TEST_F(RemoteObjects, BytesArriveThroughFaults) {
  const std::string text = random_text(3'000'001);
  put("a/b.wav", text);
  server_.set_faults(
      {{"seed", 3},
       {"most", 9},
       {"chances", {{"refuse", 0.2}, {"lost", 0.2}, {"truncate", 0.3}, {"503", 0.1}}}});
  RemoteFiles files = this->files();
  EXPECT_EQ(text_of(files.open(files.path("s3://bucket/a/b.wav"))), text);
  EXPECT_GE(server_.faults(), 2);
}

TEST_F(RemoteObjects, EachRunAsksOnce) {
  put("a", "first");
  for (const int expected : {2, 1}) {  // HEAD and GET, then HEAD alone
    RemoteFiles files = this->files();
    server_.set_faults();
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(text_of(files.open(files.path("s3://bucket/a"))), "first");
    EXPECT_EQ(requests(), expected);
  }
}

TEST_F(RemoteObjects, AnotherObjectIsNoticed) {
  put("a", "first");
  RemoteFiles before = this->files();
  const fs::path file = before.path("s3://bucket/a");
  EXPECT_EQ(text_of(before.open(file)), "first");
  put("a", "other");
  RemoteFiles after = this->files();
  EXPECT_EQ(text_of(after.open(file)), "other");
  const std::string fault =
      test::message_of<StoreError>([&] { (void)before.open(file); });  // it saw the first one
  EXPECT_EQ(fault, "s3://bucket/a has changed since this run saw it first: start the run again");
}

TEST_F(RemoteObjects, DamagedRemainsAreFetchedAgain) {
  const std::string text = random_text(100'000);
  put("a", text);
  RemoteFiles files = this->files();
  const fs::path file = files.path("s3://bucket/a");
  ASSERT_TRUE(files.look_up(file));
  const auto die = [](const fs::path& partial) {
    test::write_file(partial, std::string(50'000, 'x'));
    throw DataError("killed");
  };
  const ObjectCache cache(folder_.path() / "remote", 1 << 20);
  EXPECT_THROW((void)cache.filled(file, stamp_of(file), {die, true}), DataError);
  server_.set_faults();
  EXPECT_EQ(text_of(files.open(file)), text);
  EXPECT_EQ(requests(), 2);  // the rest, and then all
}

TEST_F(RemoteObjects, AFolderHasTheNamesOfItsObjects) {
  put("set/a.wav", "aaaa");
  put("set/deep/b.txt", "bb");
  RemoteFiles files = this->files();
  const LocalFile folder = files.open_manifest("s3://bucket/set/");
  EXPECT_EQ(fs::file_size(folder.path / "a.wav"), 4u);
  EXPECT_EQ(fs::file_size(folder.path / "deep/b.txt"), 2u);
  EXPECT_EQ(text_of(files.open(folder.path / "deep/b.txt")), "bb");
  const FileStamp listed = stamp_of(files.listing(folder.path));
  store_->remove("set/a.wav");
  RemoteFiles later = this->files();
  (void)later.open_manifest("s3://bucket/set");
  EXPECT_FALSE(fs::exists(folder.path / "a.wav"));
  EXPECT_NE(stamp_of(files.listing(folder.path)), listed);
}

TEST_F(RemoteObjects, AMemberIsFetchedWithoutItsTar) {
  const std::string first = random_text(1000, 1), second = random_text(70'000, 2);
  const std::string tar =
      test::TarWriter().add("a.wav", first).add("b.wav", second).add("c.wav", first).bytes();
  put("x.tar", tar);
  const auto member = [&](const RemoteFiles& files) {
    const fs::path place = files.path("s3://bucket/x.tar");
    return path_of({place, 512 + 1024 + 512, 70'000, "b.wav"});
  };
  RemoteFiles files = this->files();
  const LocalFile part = files.open(member(files), TarPart::member);
  EXPECT_EQ(text_of(part), second);
  EXPECT_EQ(fs::file_size(tar_member(part.path.native())->tar), 512u + 70'000u);
  const LocalFile whole = files.open(member(files), TarPart::whole);
  EXPECT_EQ(whole.path, member(files));
  EXPECT_EQ(text_of(whole), second);
}

TEST_F(RemoteObjects, TheLimitHoldsWhileEpochsPass) {
  constexpr int kFiles = 12;
  constexpr std::uint64_t kLimit = 200'000;
  for (int i = 0; i < kFiles; ++i) put(std::to_string(i), random_text(50'000, i));
  RemoteFiles files = this->files(kLimit);
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < kFiles; ++i) {
      EXPECT_EQ(text_of(files.open(files.path(fmt::format("s3://bucket/{}", i)))),
                random_text(50'000, i));
      std::uint64_t whole = 0;
      for (const auto& item : fs::recursive_directory_iterator(folder_.path()))
        if (item.is_regular_file() &&
            (item.status().permissions() & fs::perms::owner_read) == fs::perms::owner_read)
          whole += item.file_size();
      EXPECT_LE(whole, kLimit + 8);  // the sum itself has 8 bytes
    }
}

TEST_F(RemoteObjects, FaultsAreToldInSecondsByUrl) {
  put("a", "text");
  const auto start = std::chrono::steady_clock::now();
  RemoteFiles files = this->files(3);
  const auto told = [&](const std::string& url) {
    return test::message_of<Error>([&] { (void)files.open(files.path(url)); });
  };
  EXPECT_EQ(told("s3://bucket/none"), "s3://bucket/none: no such object");
  EXPECT_NE(files.with_names(told("s3://bucket/a")).find("s3://bucket/a takes 4 B, but"),
            std::string::npos)
      << files.with_names(told("s3://bucket/a"));
  server_.set_faults({{"chances", {{"403", 1}}}});
  EXPECT_NE(told("s3://bucket/b").find("answered HEAD with 403"), std::string::npos);
  ::setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1", 1);
  RemoteFiles unreachable = this->files();
  EXPECT_NE(test::message_of<StoreError>([&] {
              (void)unreachable.open_manifest("s3://bucket/a");
            }).find("can't be reached"),
            std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  RemoteFiles homeless(remote_options(""));
  EXPECT_THROW((void)homeless.path("s3://bucket/a"), ConfigError);
}

/// Files of a web server on this machine.
class WebPages : public testing::Test {
 protected:
  WebPages() : server_("tests/support/store/web_server", folder_.path().string()) {
    test::write_file(folder_.path() / "a.wav", text_);
  }
  std::string url(const std::string& path) const {
    return fmt::format("http://127.0.0.1:{}/{}", server_.line().substr(5), path);
  }
  std::string log() const { return HttpClient().send({.url = url("-/log")}).body; }

  const std::string text_ = random_text(200'003);
  test::TemporaryFolder folder_, cache_;
  test::ServerScript server_;
  RemoteFiles files_{remote_options(cache_.path())};
};

TEST_F(WebPages, EveryKindOfServerGivesTheBytes) {
  for (const char* kind : {"plain", "moved", "signed", "whole", "cut"})
    EXPECT_EQ(text_of(files_.open(files_.path(url(fmt::format("{}/a.wav", kind))))), text_) << kind;
  const std::string requests = log();  // the first half is not asked for again
  EXPECT_NE(requests.find("GET /cut/a.wav bytes=100001-200002"), std::string::npos) << requests;
}

TEST_F(WebPages, KeysStayHere) {
  ::setenv("AWS_ACCESS_KEY_ID", "AKIDPENSTOCKTESTS", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  (void)files_.open(files_.path(url("moved/a.wav")));
  ::unsetenv("AWS_ACCESS_KEY_ID");
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  const std::string requests = log();
  EXPECT_NE(requests.find("GET /plain/a.wav - -"), std::string::npos) << requests;
  EXPECT_EQ(requests.find("AKID"), std::string::npos) << requests;
}

TEST_F(WebPages, RefusalsSayWhatToDo) {
  EXPECT_EQ(test::message_of<DataError>([&] { (void)files_.open(files_.path(url("plain/b"))); }),
            url("plain/b") + ": no such object");
  EXPECT_EQ(test::message_of<StoreError>(
                [&] { (void)files_.open(files_.path(url("denied/a?signature=x"))); }),
            url("denied/a") +
                ": the server answered 403. penstock sends no keys to web servers: "
                "use a public or a signed URL, or s3://");
}

TEST_F(WebPages, ManifestsOfServersNameNoLocalFiles) {
  const fs::path manifest = files_.path("https://host/set/train.jsonl");
  const fs::path folder = manifest.parent_path();
  EXPECT_EQ(files_.located(manifest, folder / "a.wav"), folder / "a.wav");
  EXPECT_EQ(files_.located(manifest, folder / "../b.wav"), folder / "../b.wav");
  EXPECT_EQ(files_.located(manifest, folder / "s3://bucket/c.wav"),
            files_.path("s3://bucket/c.wav"));
  for (const char* name : {"/etc/passwd", "../../b.wav", "../../../../etc/passwd"})
    EXPECT_NE(test::message_of<DataError>([&] {
                (void)files_.located(manifest, folder / name);
              }).find("a manifest of a server may name files of https://host/set"),
              std::string::npos)
        << name;
  EXPECT_THROW((void)files_.located(manifest, folder / url("plain/a.wav")), DataError);
  EXPECT_EQ(files_.located("/data/train.jsonl", "/data/../a.wav"), "/data/../a.wav");
}

}  // namespace
}  // namespace penstock::runtime
