#include "runtime/store/transfer.h"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string>

#include "runtime/store/digest.h"
#include "runtime/store/store_error.h"
#include "tests/support/store/store_server.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

constexpr std::size_t kPart = 5 << 20;  // the least that S3 takes

std::string random_bytes(std::size_t size) {
  std::mt19937 random(7);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

class Transfers : public testing::Test {
 protected:
  void SetUp() override {
    if (!server_.missing().empty()) GTEST_SKIP() << server_.missing();
    test::write_file(file(), text_);
  }
  std::filesystem::path file() const { return folder_.path() / "file"; }
  std::string downloaded(S3Store& store, const StoredObject& object) const {
    const auto copy = folder_.path() / "copy";
    download_file(store, object, copy);
    return test::read_file(copy);
  }

  test::StoreServer server_;
  test::TemporaryFolder folder_;
  const std::string text_ = random_bytes(2 * kPart + 12345);
};

TEST_F(Transfers, FilesArriveThroughFaults) {
  S3Store store = server_.store();
  server_.set_faults({{"seed", 5},
                      {"most", 12},
                      {"chances",
                       {{"refuse", 0.1},
                        {"half", 0.15},
                        {"lost", 0.15},
                        {"truncate", 0.2},
                        {"corrupt", 0.1},
                        {"500", 0.1}}}});
  std::uint64_t told = 0;
  upload_file(store, "run/file", file(),
              {.part_bytes = kPart, .progress = [&](std::uint64_t bytes) { told += bytes; }});
  EXPECT_EQ(told, text_.size());
  EXPECT_TRUE(store.open_uploads("").empty());
  EXPECT_EQ(downloaded(store, store.head("run/file").value()), text_);
}

TEST_F(Transfers, PartsThatAreThereAreNotSentAgain) {
  S3Store store = server_.store();
  server_.set_faults();
  const OpenUpload died = store.begin_upload("file");
  (void)store.put_part(died, 1, std::as_bytes(std::span(text_).first(kPart)));
  std::string other = text_.substr(kPart, kPart);
  other[99] ^= 1;
  (void)store.put_part(died, 2, std::as_bytes(std::span(other)));
  server_.set_faults();
  upload_file(store, "file", file(), {.part_bytes = kPart});
  EXPECT_EQ(server_.counts()["sent"], text_.size() - kPart);  // the second part is another's
  EXPECT_EQ(downloaded(store, store.head("file").value()), text_);
}

TEST_F(Transfers, ALostCompletionIsComplete) {
  S3Store store = server_.store();
  server_.set_faults({{"most", 1}, {"only", "POST .*uploadId"}, {"chances", {{"lost", 1}}}});
  upload_file(store, "file", file(), {.part_bytes = kPart});
  EXPECT_EQ(downloaded(store, store.head("file").value()), text_);
}

TEST_F(Transfers, AnEmptyFileIsAnObject) {
  S3Store store = server_.store();
  test::write_file(file(), "");
  upload_file(store, "empty", file());
  EXPECT_EQ(downloaded(store, store.head("empty").value()), "");
}

TEST_F(Transfers, AnObjectThatChangesIsRefused) {
  S3Store store = server_.store();
  upload_file(store, "file", file(), {.part_bytes = kPart});
  StoredObject before = store.head("file").value();
  before.etag = std::string(32, '0');
  EXPECT_THROW((void)downloaded(store, before), StoreError);
}

}  // namespace
}  // namespace penstock::runtime
