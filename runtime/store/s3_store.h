#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/store/http_client.h"
#include "runtime/store/s3_answers.h"
#include "runtime/store/store_url.h"

namespace penstock::runtime {

/// A range of an object's bytes.
struct ByteRange {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
};

/// A bucket of an S3-compatible store. Requests are signed if there are keys, and are repeated as
/// HttpClient::send() does. An object appears whole or not at all, and every upload is checked by
/// digest. One thread uses it at a time. All methods throw StoreError, which names bucket, key and
/// remedy.
class S3Store {
 public:
  S3Store(const StoreUrl& url, const StoreSettings& settings, HttpOptions options = {});

  /// Writes an object, replacing one of that key.
  void put(const std::string& key, std::span<const std::byte> bytes);
  /// Writes an object unless there is one of that key; returns false then. The store decides, if it
  /// knows conditional uploads; otherwise another writer may come between.
  [[nodiscard]] bool put_new(const std::string& key, std::span<const std::byte> bytes);

  /// Returns an object of at most `max_bytes`, or nothing if there is none.
  [[nodiscard]] std::optional<std::string> get(const std::string& key,
                                               std::size_t max_bytes = 256 << 20);
  /// Sends one GET for a range, with the object's ETag if it is known, and gives the body to
  /// `sink`. Throws as HttpClient::attempt() does, besides. StoreError of kind `changed` if the
  /// ETag is another by now.
  HttpAnswer read(const StoredObject& object, const ByteRange& range, const ByteSink& sink);

  /// Describes an object, or returns nothing if there is none.
  [[nodiscard]] std::optional<StoredObject> head(const std::string& key);
  /// Lists the objects whose keys begin with `prefix`, by key, with so many in an answer.
  [[nodiscard]] std::vector<StoredObject> list(const std::string& prefix, int page = 1000);
  /// Returns the names of the folders right below `prefix`, which is "" or ends with a slash: what
  /// one answer holds, up to 1000. One request.
  [[nodiscard]] std::vector<std::string> folders(const std::string& prefix);
  /// Throws StoreError unless the bucket can be listed. One request.
  void probe(const std::string& prefix);
  /// Removes an object, if it is there.
  void remove(const std::string& key);

  // An upload in parts. Its object appears with complete(); until then the parts wait in the store.
  [[nodiscard]] OpenUpload begin_upload(const std::string& key);
  [[nodiscard]] std::vector<OpenUpload> open_uploads(const std::string& prefix);
  [[nodiscard]] std::vector<UploadedPart> parts(const OpenUpload& upload);
  [[nodiscard]] UploadedPart put_part(const OpenUpload& upload, int number,
                                      std::span<const std::byte> bytes);
  /// StoreError of kind `missing` if the upload is not there, as after one that was completed.
  void complete(const OpenUpload& upload, const std::vector<UploadedPart>& parts);
  void discard(const OpenUpload& upload);

  /// Returns "s3://bucket/key", for messages.
  [[nodiscard]] std::string text(const std::string& key) const;
  HttpClient& client() { return client_; }

 private:
  [[nodiscard]] std::string url(const std::string& key, const Query& query = {}) const;
  [[nodiscard]] HttpAnswer send(HttpRequest request, const std::string& key);
  [[nodiscard]] HttpAnswer put_checked(HttpRequest request, const std::string& key);
  template <class Item>
  std::vector<Item> all_pages(Query query, const std::string& key,
                              Page<Item> (*parse)(std::string_view));
  [[noreturn]] void throw_refusal(const HttpAnswer& answer, const std::string& method,
                                  const std::string& key) const;

  StoreUrl bucket_;  // with an empty key
  std::string endpoint_, base_;
  bool conditional_, signs_;
  HttpClient client_;
};

}  // namespace penstock::runtime
