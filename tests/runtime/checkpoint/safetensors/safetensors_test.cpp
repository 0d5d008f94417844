#include "runtime/checkpoint/safetensors/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/error.h"
#include "base/file_handle.h"
#include "tests/support/runtime/safetensors_cases.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using test::message_of;
using test::TemporaryFolder;
using test::write_file;

std::string file_of(const std::string& header, const std::string& data) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> 8 * i);
  return bytes + header + data;
}

TEST(SafetensorsFile, GivesTensorsAndMetadata) {
  const TemporaryFolder folder;
  const float values[] = {1.5f, -2, 0.25f};
  std::string data(sizeof values, '\0');
  std::memcpy(data.data(), values, sizeof values);
  const std::string header =
      R"({"b":{"dtype":"BOOL","shape":[],"data_offsets":[12,13]},"__metadata__":{"k":"v"},)"
      R"("a":{"dtype":"F32","shape":[1,3],"data_offsets":[0,12]}})";
  const auto path = folder.path() / "x.safetensors";
  write_file(path, file_of(header + std::string(8 - header.size() % 8, ' '), data + '\1'));

  const SafetensorsFile file(path);
  ASSERT_EQ(file.entries().size(), 2u);
  EXPECT_EQ(file.entries()[0].name, "a");
  EXPECT_EQ(file.entries()[1].dtype, "BOOL");
  EXPECT_TRUE(file.entries()[1].shape.empty());
  EXPECT_EQ(file.metadata().at("k"), "v");
  const layers::Tensor a = file.tensor("a");
  EXPECT_EQ(a.shape, (layers::Shape{1, 3}));
  EXPECT_EQ(std::memcmp(a.as<float>(), values, sizeof values), 0);
  EXPECT_EQ(file.bytes(file.entry("b"))[0], std::byte{1});
  EXPECT_NE(message_of<CheckpointError>([&] { (void)file.tensor("b"); }).find("BOOL"),
            std::string::npos);
  EXPECT_NE(message_of<CheckpointError>([&] { (void)file.tensor("c"); }).find("'c'"),
            std::string::npos);
}

TEST(SafetensorsFile, RejectsMisalignedNumbersAsATensorOnly) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x";
  const std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                             R"("t":{"dtype":"I32","shape":[1],"data_offsets":[1,5]}}   )";
  write_file(path, file_of(header, "abcde"));
  const SafetensorsFile file(path);
  EXPECT_EQ(file.bytes(file.entry("t")).size(), 4u);
  EXPECT_THROW((void)file.tensor("t"), CheckpointError);
}

TEST(SafetensorsFile, NamesFileThatIsMissingOrNoFile) {
  const TemporaryFolder folder;
  const auto missing = folder.path() / "nowhere.safetensors";
  EXPECT_NE(message_of<FileError>([&] { SafetensorsFile{missing}; }).find(missing.string()),
            std::string::npos);
  EXPECT_THROW(SafetensorsFile{folder.path()}, FileError);
}

TEST(SafetensorsFile, ChecksTheLengthFieldAgainstTheFile) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x";
  const std::string whole = file_of("{}", "");
  const auto refused = [&](const std::string& bytes) {
    write_file(path, bytes);
    return message_of<CheckpointError>([&] { SafetensorsFile{path}; });
  };
  EXPECT_EQ(refused(whole), "");
  EXPECT_NE(refused(""), "");
  EXPECT_NE(refused(std::string(7, '\1')), "");
  EXPECT_NE(refused(std::string(8, '\0')), "");
  EXPECT_NE(refused(whole.substr(0, 9)), "");
  EXPECT_NE(refused(whole + "x"), "");
  EXPECT_NE(refused(std::string(8, '\xff') + "{}"), "");
  EXPECT_NE(refused(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10)), "");  // 100,000,001
}

TEST(SafetensorsFile, AcceptsOrRejectsEachCaseAsRequired) {
  const auto cases = test::safetensors_cases();
  ASSERT_EQ(cases.size(), 56u);
  for (const auto& [file, what, required] : cases) {
    ASSERT_TRUE(std::filesystem::exists(file)) << file;
    const std::string reason = message_of<CheckpointError>([&] { SafetensorsFile{file}; });
    if (required == "either") continue;
    EXPECT_EQ(reason.empty(), required == "accept") << file << " (" << what << "): " << reason;
  }
}

}  // namespace
}  // namespace penstock::runtime
