#include "runtime/store/s3_answers.h"

#include <gtest/gtest.h>

#include "runtime/store/store_error.h"

namespace penstock::runtime {
namespace {

TEST(S3Answers, ListObjectsAndTheNextPage) {
  const Page<StoredObject> page = parse_objects(
      "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
      "<IsTruncated>true</IsTruncated><NextContinuationToken>a=&amp;b</NextContinuationToken>"
      "<Contents><Key>run/a&lt;b</Key><LastModified>2026-01-02T00:00:00.000Z</LastModified>"
      "<ETag>&quot;abc&quot;</ETag><Size>12345678901</Size></Contents></ListBucketResult>");
  ASSERT_EQ(page.items.size(), 1U);
  EXPECT_EQ(page.items[0].key, "run/a<b");
  EXPECT_EQ(page.items[0].bytes, 12345678901U);
  EXPECT_EQ(page.items[0].etag, "abc");
  EXPECT_EQ(page.next, (Query{{"continuation-token", "a=&b"}}));
}

TEST(S3Answers, ListFolders) {
  const Page<std::string> page = parse_folders(
      "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>file</Key></Contents>"
      "<CommonPrefixes><Prefix>a&amp;b/</Prefix></CommonPrefixes></ListBucketResult>");
  EXPECT_EQ(page.items, (std::vector<std::string>{"a&b/"}));
}

TEST(S3Answers, ListPartsAndUploads) {
  const Page<UploadedPart> parts = parse_parts(
      "<ListPartsResult><Part><PartNumber>7</PartNumber><ETag>\"e\"</ETag><Size>5</Size></Part>"
      "<IsTruncated>false</IsTruncated></ListPartsResult>");
  ASSERT_EQ(parts.items.size(), 1U);
  EXPECT_EQ(parts.items[0].number, 7);
  EXPECT_TRUE(parts.next.empty());
  const Page<OpenUpload> uploads = parse_uploads(
      "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker>"
      "<NextUploadIdMarker>i</NextUploadIdMarker>"
      "<Upload><Key>k</Key><UploadId>i</UploadId></Upload></ListMultipartUploadsResult>");
  EXPECT_EQ(uploads.items.at(0).id, "i");
  EXPECT_EQ(uploads.next, (Query{{"key-marker", "k"}, {"upload-id-marker", "i"}}));
}

TEST(S3Answers, TellRefusalsWithoutControlCharacters) {
  const Refusal refusal =
      parse_refusal("<Error><Code>NoSuchKey</Code><Message>a\x1b[2Jb</Message></Error>");
  EXPECT_EQ(refusal.code, "NoSuchKey");
  EXPECT_EQ(refusal.message, "a [2Jb");
  EXPECT_EQ(parse_refusal("<html>nonsense").code, "");
}

TEST(S3Answers, RefuseOtherDocuments) {
  EXPECT_THROW((void)parse_objects("<html></html>"), StoreError);
  EXPECT_THROW((void)parse_objects("<ListBucketResult><Contents>"), StoreError);
  EXPECT_THROW((void)parse_upload_id(""), StoreError);
}

TEST(S3Answers, DeepDocumentsDoNoHarm) {
  std::string deep = "<ListBucketResult>";
  for (int i = 0; i < 1000000; ++i) deep += "<a>";
  EXPECT_THROW((void)parse_objects(deep), StoreError);
}

TEST(S3Answers, CompletionListsParts) {
  EXPECT_EQ(completion_text({{1, 5, "a"}}),
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"a\"</ETag></Part>"
            "</CompleteMultipartUpload>");
}

}  // namespace
}  // namespace penstock::runtime
