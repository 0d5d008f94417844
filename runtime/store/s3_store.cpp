#include "runtime/store/s3_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "runtime/store/digest.h"
#include "runtime/store/store_error.h"

// Requests follow the REST interface of S3: "Amazon Simple Storage Service, API Reference". What is
// uploaded carries its SHA-256, which the signature covers, and its MD5. The store refuses bytes
// that have others. Where the ETag of the answer is an MD5, it is compared as well.
//
// An answer may be lost although the request was carried out. So each request can be repeated:
// writing the same bytes, removing and discarding change nothing more, and a completion that finds
// its upload gone is for the caller to judge by the object.

namespace penstock::runtime {
namespace {

constexpr int kConflict = 409, kExists = 412, kMissing = 404;  // 412 also means another ETag

std::string base_url(const StoreUrl& url, const StoreSettings& settings) {
  if (settings.path_style) return fmt::format("{}/{}", settings.endpoint, url.bucket);
  const std::size_t host = settings.endpoint.find("://") + 3;
  return fmt::format("{}{}.{}", settings.endpoint.substr(0, host), url.bucket,
                     settings.endpoint.substr(host));
}

/// Returns true if the answer's ETag is the MD5 of an object, or the MD5 of its parts' MD5s and
/// their number. If a store encrypts with a key service's or a customer's keys, the ETag is
/// something else. Google's is no MD5 either.
bool names_md5(const HttpAnswer& answer, const std::string& etag) {
  constexpr std::size_t kDigits = 32;
  return etag.find_first_not_of("0123456789abcdef") >= kDigits && etag.size() >= kDigits &&
         (etag.size() == kDigits || etag[kDigits] == '-') &&
         !answer.header("x-amz-server-side-encryption").starts_with("aws:kms") &&
         answer.header("x-amz-server-side-encryption-customer-algorithm").empty();
}

// A store says 403 for an object that is not there, too, to whoever may not list the bucket.
constexpr const char* kWithoutKeys =
    "The request had no keys: none were found, or AWS_NO_SIGN_REQUEST forbids them. If the bucket "
    "is public, there may be no such object. If not, set AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or name a profile of ~/.aws/credentials in AWS_PROFILE. With the AWS "
    "CLI:\n  eval \"$(aws configure export-credentials --format env)\"";

/// Returns what the user can do about a refusal; "" if that is unknown. `signs` says if the request
/// was signed.
std::string remedy(const std::string& code, int status, const StoreUrl& url, bool signs) {
  if (code == "NoSuchBucket")
    return fmt::format("There is no bucket '{}' there: create it, or correct the URL.", url.bucket);
  if (!signs && (status == 401 || status == 403)) return kWithoutKeys;
  if (code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch" || status == 401)
    return "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile in "
           "~/.aws/credentials.";
  if (code == "ExpiredToken" || code == "InvalidToken")
    return "Renew the credentials with their AWS_SESSION_TOKEN.";
  if (code == "RequestTimeTooSkewed") return "Set this machine's clock.";
  if (code == "AuthorizationHeaderMalformed" || code == "PermanentRedirect" || status == 301)
    return "Set AWS_REGION to the region of the bucket.";
  if (status == 403)
    return "The keys must be right, and may list, read, write and remove objects there.";
  return "";
}

StoreError::Kind kind_of(int status) {
  if (status == 401 || status == 403) return StoreError::Kind::denied;
  if (status == kMissing) return StoreError::Kind::missing;
  if (status == kExists) return StoreError::Kind::changed;
  return worth_repeating(status) ? StoreError::Kind::unreachable : StoreError::Kind::refused;
}

StoredObject described(const std::string& key, const HttpAnswer& answer) {
  StoredObject object{key, std::strtoull(answer.header("content-length").c_str(), nullptr, 10),
                      without_quotes(answer.header("etag"))};
  object.etag_is_md5 = names_md5(answer, object.etag);
  return object;
}

}  // namespace

S3Store::S3Store(const StoreUrl& url, const StoreSettings& settings, HttpOptions options)
    : bucket_{url.kind, url.bucket},
      endpoint_(settings.endpoint),
      base_(base_url(url, settings)),
      conditional_(settings.conditional),
      signs_(!settings.credentials.none()),
      client_(std::move(options)) {
  if (signs_) client_.sign_with(settings.credentials, settings.region);
}

std::string S3Store::text(const std::string& key) const {
  return StoreUrl{bucket_.kind, bucket_.bucket, key}.text();
}

std::string S3Store::url(const std::string& key, const Query& query) const {
  std::string url = fmt::format("{}/{}", base_, escaped(key, true));
  char separator = '?';
  for (const auto& [name, value] : query) {
    url += fmt::format("{}{}={}", separator, escaped(name), escaped(value));
    separator = '&';
  }
  return url;
}

void S3Store::throw_refusal(const HttpAnswer& answer, const std::string& method,
                            const std::string& key) const {
  const Refusal refusal = parse_refusal(answer.body);
  std::string message =
      fmt::format("{}: {} answered {} with {}", text(key), endpoint_, method, answer.status);
  if (!refusal.code.empty()) message += " " + refusal.code;
  if (!refusal.message.empty()) message += fmt::format(" ({})", refusal.message);
  if (const std::string hint = remedy(refusal.code, answer.status, bucket_, signs_); !hint.empty())
    message += ". " + hint;
  throw StoreError(kind_of(answer.status), message);
}

HttpAnswer S3Store::send(HttpRequest request, const std::string& key) try {
  return client_.send(request);
} catch (const StoreError& error) {
  if (error.kind() != StoreError::Kind::unreachable) throw;
  throw StoreError(error.kind(),
                   fmt::format("{} can't be reached: {}. Check the network and AWS_ENDPOINT_URL.",
                               text(key), error.what()));
}

/// Sends a PUT with digests and returns its answer. Repeats it if the store got other bytes.
HttpAnswer S3Store::put_checked(HttpRequest request, const std::string& key) {
  constexpr int kAttempts = 4;
  const std::string digest = md5(request.body);
  request.method = "PUT";
  request.headers.push_back("Content-MD5: " + to_base64(digest));
  for (int attempt = 1;; ++attempt) {
    HttpAnswer answer = send(request, key);
    const std::string etag = without_quotes(answer.header("etag"));
    const bool other = answer.good() && names_md5(answer, etag) && etag != to_hex(digest);
    const std::string code = answer.good() ? "" : parse_refusal(answer.body).code;
    const bool damaged = other || code == "BadDigest" || code == "XAmzContentSHA256Mismatch";
    if (damaged && attempt < kAttempts) continue;
    if (damaged)
      throw StoreError(
          StoreError::Kind::refused,
          fmt::format("{}: {} got other bytes than were sent, {} times. Something between changes "
                      "them.",
                      text(key), endpoint_, kAttempts));
    return answer;
  }
}

void S3Store::put(const std::string& key, std::span<const std::byte> bytes) {
  const HttpAnswer answer = put_checked({.url = url(key), .body = bytes}, key);
  if (!answer.good()) throw_refusal(answer, "PUT", key);
}

// A store that does not know the condition answers 501. One that ignores it writes, so it is asked
// for the object first. 409 means that another writer was there at the same time.
bool S3Store::put_new(const std::string& key, std::span<const std::byte> bytes) {
  constexpr int kNotImplemented = 501, kAttempts = 5;
  if (head(key)) return false;
  HttpRequest request{.url = url(key), .body = bytes};
  if (conditional_) request.headers = {"If-None-Match: *"};
  for (int attempt = 1;; ++attempt) {
    const HttpAnswer answer = put_checked(request, key);
    if (answer.good()) return true;
    if (answer.status == kExists) return false;
    if (answer.status == kNotImplemented && conditional_) {
      conditional_ = false;
      request.headers.clear();
    } else if (answer.status != kConflict || attempt == kAttempts) {
      throw_refusal(answer, "PUT", key);
    }
  }
}

std::optional<std::string> S3Store::get(const std::string& key, std::size_t max_bytes) {
  HttpAnswer answer = send({.url = url(key), .max_answer = max_bytes}, key);
  if (answer.good()) return std::move(answer.body);
  if (answer.status == kMissing && parse_refusal(answer.body).code != "NoSuchBucket")
    return std::nullopt;
  throw_refusal(answer, "GET", key);
}

HttpAnswer S3Store::read(const StoredObject& object, const ByteRange& range, const ByteSink& sink) {
  HttpRequest request{.url = url(object.key), .sink = sink};
  if (range.begin > 0 || range.end < object.bytes)
    request.headers.push_back(fmt::format("Range: bytes={}-{}", range.begin, range.end - 1));
  if (!object.etag.empty()) request.headers.push_back(fmt::format("If-Match: \"{}\"", object.etag));
  HttpAnswer answer = client_.attempt(request);
  if (!answer.good() && !worth_repeating(answer.status)) throw_refusal(answer, "GET", object.key);
  return answer;
}

std::optional<StoredObject> S3Store::head(const std::string& key) {
  const HttpAnswer answer = send({.method = "HEAD", .url = url(key)}, key);
  if (answer.status == kMissing) return std::nullopt;
  if (!answer.good()) throw_refusal(answer, "HEAD", key);
  return described(key, answer);
}

template <class Item>
std::vector<Item> S3Store::all_pages(Query query, const std::string& key,
                                     Page<Item> (*parse)(std::string_view)) {
  std::vector<Item> all;
  while (true) {
    const HttpAnswer answer = send({.url = url(key, query)}, key);
    if (!answer.good()) throw_refusal(answer, "GET", key);
    Page<Item> page = parse(answer.body);
    std::ranges::move(page.items, std::back_inserter(all));
    if (page.next.empty()) return all;
    for (auto& [name, value] : page.next) query[name] = value;
  }
}

std::vector<StoredObject> S3Store::list(const std::string& prefix, int page) {
  return all_pages({{"list-type", "2"}, {"max-keys", fmt::format("{}", page)}, {"prefix", prefix}},
                   "", &parse_objects);
}

std::vector<std::string> S3Store::folders(const std::string& prefix) {
  const Query query = {{"delimiter", "/"}, {"list-type", "2"}, {"prefix", prefix}};
  const HttpAnswer answer = send({.url = url("", query)}, prefix);
  if (!answer.good()) throw_refusal(answer, "GET", prefix);
  std::vector<std::string> names;
  for (const std::string& folder : parse_folders(answer.body).items)
    if (folder.starts_with(prefix) && folder.size() > prefix.size() + 1)
      names.push_back(folder.substr(prefix.size(), folder.size() - prefix.size() - 1));
  return names;
}

void S3Store::probe(const std::string& prefix) {
  const Query query = {{"list-type", "2"}, {"max-keys", "1"}, {"prefix", prefix}};
  const HttpAnswer answer = send({.url = url("", query)}, prefix);
  if (!answer.good()) throw_refusal(answer, "GET", prefix);
  (void)parse_objects(answer.body);
}

void S3Store::remove(const std::string& key) {
  const HttpAnswer answer = send({.method = "DELETE", .url = url(key)}, key);
  if (!answer.good() && answer.status != kMissing) throw_refusal(answer, "DELETE", key);
}

OpenUpload S3Store::begin_upload(const std::string& key) {
  const HttpAnswer answer = send({.method = "POST", .url = url(key, {{"uploads", ""}})}, key);
  if (!answer.good()) throw_refusal(answer, "POST", key);
  return {key, parse_upload_id(answer.body)};
}

std::vector<OpenUpload> S3Store::open_uploads(const std::string& prefix) {
  return all_pages({{"prefix", prefix}, {"uploads", ""}}, "", &parse_uploads);
}

std::vector<UploadedPart> S3Store::parts(const OpenUpload& upload) {
  return all_pages({{"uploadId", upload.id}}, upload.key, &parse_parts);
}

UploadedPart S3Store::put_part(const OpenUpload& upload, int number,
                               std::span<const std::byte> bytes) {
  const Query query = {{"partNumber", fmt::format("{}", number)}, {"uploadId", upload.id}};
  const HttpAnswer answer = put_checked({.url = url(upload.key, query), .body = bytes}, upload.key);
  if (!answer.good()) throw_refusal(answer, "PUT", upload.key);
  return {number, bytes.size(), without_quotes(answer.header("etag"))};
}

// A store may begin to answer 200 before it has joined the parts, and then report an error in the
// body.
void S3Store::complete(const OpenUpload& upload, const std::vector<UploadedPart>& parts) {
  const std::string body = completion_text(parts);
  const HttpRequest request{.method = "POST",
                            .url = url(upload.key, {{"uploadId", upload.id}}),
                            .headers = {"Content-Type: application/xml"},
                            .body = std::as_bytes(std::span(body))};
  Backoff backoff(client_.options().retries);
  while (true) {
    HttpAnswer answer = send(request, upload.key);
    const std::string code = parse_refusal(answer.body).code;
    if (answer.good() && code.empty()) return;
    const bool passing = answer.good() && (code == "InternalError" || code == "SlowDown");
    if (passing && client_.pause(backoff)) continue;
    throw_refusal(answer, "POST", upload.key);
  }
}

void S3Store::discard(const OpenUpload& upload) {
  const HttpAnswer answer =
      send({.method = "DELETE", .url = url(upload.key, {{"uploadId", upload.id}})}, upload.key);
  if (!answer.good() && answer.status != kMissing) throw_refusal(answer, "DELETE", upload.key);
}

}  // namespace penstock::runtime
