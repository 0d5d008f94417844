#include "runtime/store/s3_answers.h"
#include "tests/fuzz/readers.h"

namespace penstock::test {

void read_s3_answer(std::string_view bytes) {
  expect_answer([&] { (void)runtime::parse_refusal(bytes); });
  expect_answer([&] { (void)runtime::parse_objects(bytes); });
  expect_answer([&] { (void)runtime::parse_folders(bytes); });
  expect_answer([&] { (void)runtime::completion_text(runtime::parse_parts(bytes).items); });
  expect_answer([&] { (void)runtime::parse_uploads(bytes); });
  expect_answer([&] { (void)runtime::parse_upload_id(bytes); });
}

}  // namespace penstock::test
