#include "runtime/store/s3_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <utility>
#include <vector>

#include "runtime/store/store_error.h"

namespace penstock::runtime {
namespace {

/// Returns the root of a document, whose name must begin like that: moto's "ListPartsResponse" is
/// "ListPartsResult" elsewhere.
pugi::xml_node root_of(const pugi::xml_document& document, const char* name) {
  const pugi::xml_node root = document.document_element();
  if (!std::string_view(root.name()).starts_with(name))
    throw StoreError(
        StoreError::Kind::refused,
        fmt::format("the store's answer is no {}: is this an S3-compatible store?", name));
  return root;
}

/// Returns a document, which has no root if the text is damaged.
pugi::xml_document parsed(std::string_view body) {
  pugi::xml_document document;
  if (!document.load_buffer(body.data(), body.size())) document.reset();
  return document;
}

std::string text_of(const pugi::xml_node& node, const char* name) { return node.child_value(name); }

bool is_truncated(const pugi::xml_node& root) { return text_of(root, "IsTruncated") == "true"; }

/// The names of a list's elements: its root, its items, and, by the query of the next page, where
/// the value of that query stands.
struct ListNames {
  const char *root, *item;
  std::vector<std::pair<const char*, const char*>> next;
};

/// Parses a page of a list. `parse_item` returns an item from its element.
template <class Item, class ParseItem>
Page<Item> parse_page(std::string_view body, const ListNames& names, ParseItem parse_item) {
  const pugi::xml_document document = parsed(body);
  const pugi::xml_node root = root_of(document, names.root);
  Page<Item> page;
  for (const pugi::xml_node& item : root.children(names.item))
    page.items.push_back(parse_item(item));
  if (is_truncated(root))
    for (const auto& [query, element] : names.next) page.next[query] = text_of(root, element);
  return page;
}

/// Returns text that a terminal can show, of limited length: a server wrote it.
std::string printable(std::string text) {
  constexpr std::size_t kLongest = 300;
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text.substr(0, kLongest);
}

}  // namespace

Refusal parse_refusal(std::string_view body) {
  const pugi::xml_document document = parsed(body);
  const pugi::xml_node error = document.child("Error");
  return {printable(text_of(error, "Code")), printable(text_of(error, "Message"))};
}

Page<StoredObject> parse_objects(std::string_view body) {
  return parse_page<StoredObject>(
      body, {"ListBucketResult", "Contents", {{"continuation-token", "NextContinuationToken"}}},
      [](const pugi::xml_node& item) {
        return StoredObject{text_of(item, "Key"), item.child("Size").text().as_ullong(),
                            without_quotes(text_of(item, "ETag")), text_of(item, "LastModified")};
      });
}

Page<std::string> parse_folders(std::string_view body) {
  return parse_page<std::string>(
      body,
      {"ListBucketResult", "CommonPrefixes", {{"continuation-token", "NextContinuationToken"}}},
      [](const pugi::xml_node& item) { return text_of(item, "Prefix"); });
}

Page<UploadedPart> parse_parts(std::string_view body) {
  return parse_page<UploadedPart>(
      body, {"ListParts", "Part", {{"part-number-marker", "NextPartNumberMarker"}}},
      [](const pugi::xml_node& item) {
        return UploadedPart{item.child("PartNumber").text().as_int(),
                            item.child("Size").text().as_ullong(),
                            without_quotes(text_of(item, "ETag"))};
      });
}

Page<OpenUpload> parse_uploads(std::string_view body) {
  return parse_page<OpenUpload>(
      body,
      {"ListMultipartUploadsResult",
       "Upload",
       {{"key-marker", "NextKeyMarker"}, {"upload-id-marker", "NextUploadIdMarker"}}},
      [](const pugi::xml_node& item) {
        return OpenUpload{text_of(item, "Key"), text_of(item, "UploadId")};
      });
}

std::string parse_upload_id(std::string_view body) {
  const pugi::xml_document document = parsed(body);
  return text_of(root_of(document, "InitiateMultipartUploadResult"), "UploadId");
}

std::string completion_text(const std::vector<UploadedPart>& parts) {
  std::string text = "<CompleteMultipartUpload>";
  for (const UploadedPart& part : parts)
    text += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>\"{}\"</ETag></Part>", part.number,
                        part.etag);
  return text + "</CompleteMultipartUpload>";
}

std::string without_quotes(std::string_view etag) {
  if (etag.starts_with('"')) etag.remove_prefix(1);
  if (etag.ends_with('"')) etag.remove_suffix(1);
  return std::string(etag);
}

}  // namespace penstock::runtime
