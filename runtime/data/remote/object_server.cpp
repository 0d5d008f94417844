#include "runtime/data/remote/object_server.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "runtime/data/index/stream_hash.h"
#include "runtime/data/remote/remote_url.h"
#include "runtime/store/store_error.h"
#include "runtime/store/transfer.h"

// A web server describes an object in its answer to HEAD. Some refuse HEAD, such as stores whose
// URLs are signed for GET: they are asked for the first byte. If-Range lets the rest of an object
// come only from the same one; a server that has another sends all of it, with another ETag.

namespace penstock::runtime {
namespace {

constexpr int kRange = 206, kUnauthorized = 401, kForbidden = 403, kMissing = 404, kNoMethod = 405,
              kGone = 410, kNotImplemented = 501;

[[noreturn]] void throw_refusal(const std::string& url, const HttpAnswer& answer) {
  const bool denied = answer.status == kUnauthorized || answer.status == kForbidden;
  throw StoreError(
      denied                           ? StoreError::Kind::denied
      : worth_repeating(answer.status) ? StoreError::Kind::unreachable
                                       : StoreError::Kind::refused,
      fmt::format("{}: the server answered {}{}", without_query(url), answer.status,
                  denied ? ". penstock sends no keys to web servers: use a public or a signed URL, "
                           "or s3://"
                         : ""));
}

[[noreturn]] void throw_changed(const std::string& url) {
  throw StoreError(StoreError::Kind::changed,
                   fmt::format("{} is another object", without_query(url)));
}

/// Throws the error that is being handled, with the URL if there was no answer.
[[noreturn]] void throw_unread(const std::string& url, const StoreError& error) {
  if (error.kind() != StoreError::Kind::unreachable) throw;
  throw StoreError(error.kind(), fmt::format("{} can't be read: {}. Check the network and the URL.",
                                             without_query(url), error.what()));
}

std::uint64_t number(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 10); }

/// Returns the size of the whole object in "bytes 0-0/1234".
std::uint64_t whole_size(const HttpAnswer& answer) {
  const std::string range = answer.header("content-range");
  const std::size_t slash = range.find('/');
  if (answer.status != kRange || slash == std::string::npos)
    return number(answer.header("content-length"));
  return number(range.substr(slash + 1));
}

bool is_weak(const std::string& etag) { return etag.starts_with("W/"); }

}  // namespace

FileStamp stamp_of(const RemoteObject& object) {
  constexpr std::uint64_t kSeconds = 1'000'000'000;  // in 2001
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  const std::uint64_t hash = hash_of(object.etag.empty() ? object.modified : object.etag);
  return {static_cast<std::int64_t>(object.bytes),
          (1 + static_cast<std::int64_t>(hash % (kSeconds - 1))) * kNanoseconds};
}

S3Store& ObjectServers::store(const std::string& url) {
  StoreUrl bucket = parse_store_url(url);
  bucket.key.clear();
  const auto known = stores_.find(bucket.text());
  if (known != stores_.end()) return known->second;
  return stores_.emplace(bucket.text(), S3Store(bucket, find_settings(bucket), options_))
      .first->second;
}

std::optional<RemoteObject> ObjectServers::describe(const std::string& url) {
  if (!is_store_url(url)) return describe_page(url);
  const std::string key = parse_store_url(url).key;
  if (key.empty()) return std::nullopt;  // a bucket
  const auto found = store(url).head(key);
  if (!found) return std::nullopt;
  return RemoteObject{found->bytes, found->etag, {}, found->etag_is_md5};
}

std::optional<RemoteObject> ObjectServers::describe_page(const std::string& url) try {
  HttpAnswer answer = web_.send({.method = "HEAD", .url = url, .follow = true});
  if (answer.status == kForbidden || answer.status == kNoMethod || answer.status == kNotImplemented)
    answer = web_.send({.url = url, .headers = {"Range: bytes=0-0"}, .follow = true});
  if (answer.status == kMissing || answer.status == kGone) return std::nullopt;
  if (!answer.good()) throw_refusal(url, answer);
  if (answer.status != kRange && answer.header("content-length").empty())
    throw StoreError(StoreError::Kind::refused,
                     fmt::format("{}: the server tells no Content-Length: read it from another one",
                                 without_query(url)));
  RemoteObject object{whole_size(answer), without_quotes(answer.header("etag")),
                      answer.header("last-modified")};
  object.ranges = answer.status == kRange || answer.header("accept-ranges") == "bytes";
  return object;
} catch (const StoreError& error) {
  throw_unread(url, error);
}

std::optional<std::string> ObjectServers::read(const std::string& url, std::size_t max_bytes) {
  if (is_store_url(url)) return store(url).get(parse_store_url(url).key, max_bytes);
  try {
    HttpAnswer answer = web_.send({.url = url, .max_answer = max_bytes, .follow = true});
    if (answer.status == kMissing || answer.status == kGone) return std::nullopt;
    if (!answer.good()) throw_refusal(url, answer);
    return std::move(answer.body);
  } catch (const StoreError& error) {
    throw_unread(url, error);
  }
}

std::vector<ListedRemote> ObjectServers::list(const std::string& url) {
  const std::string prefix = parse_store_url(url).key + "/";
  std::vector<ListedRemote> listed;
  for (const StoredObject& object : store(url).list(prefix == "/" ? "" : prefix))
    listed.push_back({object.key.substr(prefix == "/" ? 0 : prefix.size()),
                      RemoteObject{object.bytes, object.etag}});
  return listed;
}

HttpAnswer ObjectServers::read_page(const std::string& url, const RemoteObject& object,
                                    const ByteRange& range, const ByteSink& sink) {
  HttpRequest request{.url = url, .follow = true, .sink = sink};
  if (range.begin > 0 || range.end < object.bytes) {
    request.headers.push_back(fmt::format("Range: bytes={}-{}", range.begin, range.end - 1));
    if (!object.etag.empty() && !is_weak(object.etag))
      request.headers.push_back(fmt::format("If-Range: \"{}\"", object.etag));
  }
  HttpAnswer answer = web_.attempt(request);
  if (!answer.good() && !worth_repeating(answer.status)) throw_refusal(url, answer);
  const std::string etag = without_quotes(answer.header("etag"));
  if (answer.good() && ((!etag.empty() && !object.etag.empty() && etag != object.etag) ||
                        (answer.status == kRange && whole_size(answer) != object.bytes)))
    throw_changed(url);
  return answer;
}

void ObjectServers::download(const std::string& url, const RemoteObject& object,
                             const ByteRange& range, const std::filesystem::path& file,
                             bool resume) {
  RangeDownload download{.name = without_query(url),
                         .bytes = object.bytes,
                         .range = range,
                         .read = {},
                         .resume = resume};
  if (!is_store_url(url)) {
    download.read = [&](const ByteRange& rest, const ByteSink& sink) {
      return read_page(url, object, rest, sink);
    };
    return download_range(download, web_, file);
  }
  S3Store& from = store(url);
  const StoredObject stored{parse_store_url(url).key, object.bytes, object.etag};
  download.read = [&](const ByteRange& rest, const ByteSink& sink) {
    return from.read(stored, rest, sink);
  };
  download_range(download, from.client(), file);
}

}  // namespace penstock::runtime
