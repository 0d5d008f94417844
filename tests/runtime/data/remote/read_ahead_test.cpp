#include "runtime/data/remote/read_ahead.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "base/error.h"
#include "tests/support/store/server_script.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// A web server with 20 files, of which number i has 100 + i bytes.
class ReadAheads : public testing::Test {
 protected:
  ReadAheads() : server_("tests/support/store/web_server", pages_.path().string()) {
    for (int i = 0; i < kFiles; ++i) test::write_file(pages_.path() / std::to_string(i), text(i));
  }
  static std::string text(int i) { return std::string(100 + i, static_cast<char>('a' + i)); }
  std::filesystem::path file(int i) const {
    return files_->path(fmt::format("http://127.0.0.1:{}/plain/{}", server_.line().substr(5), i));
  }
  std::int64_t gets() const {
    const std::string log =
        HttpClient()
            .send({.url = fmt::format("http://127.0.0.1:{}/-/log", server_.line().substr(5))})
            .body;
    std::int64_t count = 0;
    for (std::size_t at = log.find("GET "); at != std::string::npos; at = log.find("GET ", at + 1))
      ++count;
    return count;
  }
  void wait_for_gets(std::int64_t count) const {
    for (int i = 0; i < 500 && gets() < count; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  static constexpr int kFiles = 20;
  test::TemporaryFolder pages_, cache_;
  test::ServerScript server_;
  std::shared_ptr<RemoteFiles> files_ =
      std::make_shared<RemoteFiles>(RemoteFilesOptions{.cache = cache_.path(), .bytes = 1 << 20});
};

TEST_F(ReadAheads, WhatIsTakenIsWhatWasAnnounced) {
  ReadAhead ahead(files_, {.threads = 3});
  for (int i = 0; i < kFiles; ++i) ahead.push(file(i));
  ahead.push(file(4));  // a second time, as for segments of a recording
  for (int i = 0; i < kFiles; ++i) EXPECT_EQ(test::read_file(ahead.take(file(i)).path), text(i));
  EXPECT_EQ(test::read_file(ahead.take(file(4)).path), text(4));
  EXPECT_EQ(gets(), kFiles);
}

TEST_F(ReadAheads, NoMoreIsOpenThanTheBoundAllows) {
  ReadAhead ahead(files_, {.threads = 2, .recordings = 5});
  for (int i = 0; i < kFiles; ++i) ahead.push(file(i));
  wait_for_gets(5);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(gets(), 5);
  (void)ahead.take(file(0));
  wait_for_gets(6);
  EXPECT_EQ(gets(), 6);
}

TEST_F(ReadAheads, AFailureIsThrownWhereItIsTaken) {
  ReadAhead ahead(files_, {.threads = 1});
  ahead.push(file(kFiles));
  ahead.push(file(1));
  EXPECT_THROW((void)ahead.take(file(kFiles)), DataError);
  EXPECT_EQ(test::read_file(ahead.take(file(1)).path), text(1));
  EXPECT_EQ(test::read_file(ahead.take(file(2)).path), text(2));  // nobody announced it
}

}  // namespace
}  // namespace penstock::runtime
