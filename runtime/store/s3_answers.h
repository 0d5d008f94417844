#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

// The XML documents that S3 answers with. A document that is damaged or lacks what it must have is
// a StoreError.

/// An object as a store lists or describes it.
struct StoredObject {
  std::string key;
  std::uint64_t bytes = 0;
  std::string etag = {};      // without quotes
  std::string modified = {};  // "2026-11-28T16:00:00.000Z"; set by list() alone
  bool etag_is_md5 = false;   // the ETag follows from the bytes; set by head() alone
};

/// A part of an upload that is under way.
struct UploadedPart {
  int number = 0;  // from 1
  std::uint64_t bytes = 0;
  std::string etag = {};  // without quotes
};

/// An upload in parts that is under way: its object does not exist yet.
struct OpenUpload {
  std::string key, id;
};

/// The query of a URL, unescaped. It is sorted by name, as signatures need it.
using Query = std::map<std::string, std::string>;

/// A page of a list, and what fetches the next page; empty after the last.
template <class Item>
struct Page {
  std::vector<Item> items;
  Query next = {};
};

/// Why a request was refused: <Code> and <Message> of an error. Both are "" if the body is none.
struct Refusal {
  std::string code = {}, message = {};
};

[[nodiscard]] Refusal parse_refusal(std::string_view body);
[[nodiscard]] Page<StoredObject> parse_objects(std::string_view body);
/// Returns the common prefixes of a list with a delimiter, as "run/".
[[nodiscard]] Page<std::string> parse_folders(std::string_view body);
[[nodiscard]] Page<UploadedPart> parse_parts(std::string_view body);
[[nodiscard]] Page<OpenUpload> parse_uploads(std::string_view body);
[[nodiscard]] std::string parse_upload_id(std::string_view body);

/// Returns the body that completes an upload with these parts.
[[nodiscard]] std::string completion_text(const std::vector<UploadedPart>& parts);

/// Returns an ETag without its quotes.
[[nodiscard]] std::string without_quotes(std::string_view etag);

}  // namespace penstock::runtime
