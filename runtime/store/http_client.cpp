#include "runtime/store/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <string_view>
#include <utility>

#include "runtime/store/digest.h"
#include "runtime/store/store_error.h"

// libcurl sends and signs. Its signatures of 7.88, in Debian 12, leave four things to the caller,
// which newer versions accept too:
//   - the path is signed as it stands in the URL: it must be escaped as S3 does, see escaped()
//   - the query is signed as it stands: its names must be in order, and each needs a "="
//   - the payload's hash is taken from the header x-amz-content-sha256, which S3 wants anyway
//   - every header that is set here is signed, so none may be set that libcurl does not send

namespace penstock::runtime {
namespace {

[[noreturn]] void throw_stopped() {
  throw StoreError(StoreError::Kind::stopped, "the transfer was asked to stop");
}

/// The state of one transfer, which libcurl's callbacks get.
struct Transfer {
  const HttpRequest& request;
  std::stop_token stop;
  CURL* curl;
  HttpAnswer answer = {};
  std::size_t sent = 0;
  bool too_long = false;
  std::exception_ptr failure = {};  // of the sink

  int status() const {
    long code = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
    return static_cast<int>(code);
  }
};

/// libcurl calls it with each part of the body. Exceptions must not pass through C.
std::size_t take_body(char* data, std::size_t, std::size_t size, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const int status = transfer.status();
  try {
    if (transfer.request.sink && status >= 200 && status < 300) {
      transfer.request.sink(status, std::as_bytes(std::span(data, size)));
      return size;
    }
    transfer.too_long = transfer.answer.body.size() + size > transfer.request.max_answer;
    if (transfer.too_long) return 0;
    transfer.answer.body.append(data, size);
    return size;
  } catch (...) {
    transfer.failure = std::current_exception();
    return 0;
  }
}

/// libcurl calls it with each line of the header. A status line begins the header of a new answer,
/// such as the one after "100 Continue".
std::size_t take_header(char* data, std::size_t, std::size_t size, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size);
  const std::size_t colon = line.find(':');
  if (line.starts_with("HTTP/")) transfer.answer.headers.clear();
  if (colon == std::string_view::npos) return size;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  std::string_view value = line.substr(colon + 1);
  const std::size_t begin = value.find_first_not_of(" \t");
  const std::size_t end = value.find_last_not_of(" \t\r\n");
  value = end == std::string_view::npos ? "" : value.substr(begin, end - begin + 1);
  transfer.answer.headers[name] = value;
  return size;
}

std::size_t give_body(char* to, std::size_t, std::size_t size, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const auto rest = transfer.request.body.subspan(transfer.sent);
  const std::size_t count = std::min(size, rest.size());
  std::memcpy(to, rest.data(), count);
  transfer.sent += count;
  return count;
}

int rewind_body(void* user, curl_off_t offset, int) {
  static_cast<Transfer*>(user)->sent = static_cast<std::size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

int check_stop(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Transfer*>(user)->stop.stop_requested() ? 1 : 0;
}

bool may_pass(CURLcode code) {
  constexpr std::array kLasting = {CURLE_UNSUPPORTED_PROTOCOL,
                                   CURLE_URL_MALFORMAT,
                                   CURLE_NOT_BUILT_IN,
                                   CURLE_OUT_OF_MEMORY,
                                   CURLE_PEER_FAILED_VERIFICATION,
                                   CURLE_SSL_CACERT_BADFILE,
                                   CURLE_TOO_MANY_REDIRECTS,
                                   CURLE_BAD_FUNCTION_ARGUMENT};
  return std::ranges::find(kLasting, code) == kLasting.end();
}

void set_body(CURL* curl, const HttpRequest& request) {
  const auto size = static_cast<curl_off_t>(request.body.size());
  if (request.method == "HEAD") {
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (request.method == "PUT") {
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, size);
  } else if (request.method == "POST") {
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, size);
    curl_easy_setopt(
        curl, CURLOPT_POSTFIELDS,
        request.body.empty() ? "" : reinterpret_cast<const char*>(request.body.data()));
  } else if (request.method != "GET") {
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
}

}  // namespace

/// libcurl's handle, its list of headers and what signs.
struct HttpClient::Handle {
  struct Release {
    void operator()(CURL* handle) const {
      curl_easy_reset(handle);  // it points to what the last transfer had on its stack
      curl_easy_cleanup(handle);
    }
  };
  // Initialises libcurl itself if need be, which is safe among threads from version 7.84 on.
  std::unique_ptr<CURL, Release> curl{curl_easy_init()};
  std::string sigv4 = {};  // "" signs nothing
  Credentials credentials = {};

  using Headers = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;
  [[nodiscard]] Headers headers(const HttpRequest& request) const;
  void prepare(const HttpRequest& request, const HttpOptions& options) const;
  void sign() const;
};

HttpClient::Handle::Headers HttpClient::Handle::headers(const HttpRequest& request) const {
  std::vector<std::string> lines = request.headers;
  if (!sigv4.empty()) {
    lines.push_back("x-amz-content-sha256: " + sha256_hex(request.body));
    if (!credentials.session_token.empty())
      lines.push_back("x-amz-security-token: " + credentials.session_token);
  }
  Headers list(nullptr, curl_slist_free_all);
  for (const std::string& line : lines) list.reset(curl_slist_append(list.release(), line.c_str()));
  return list;
}

// The limits end a connection that hangs: one that can't be made, and one on which nothing passes.
// libcurl's own retries and redirections stay off, except where a request follows.
void HttpClient::Handle::prepare(const HttpRequest& request, const HttpOptions& options) const {
  CURL* const c = curl.get();
  curl_easy_reset(c);
  curl_easy_setopt(c, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR,
                   is_on_this_machine(request.url) ? "http,https" : "https");
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, request.follow ? 1L : 0L);
  curl_easy_setopt(c, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  if (!options.proxy) curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(c, CURLOPT_USERAGENT, "penstock");
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, static_cast<long>(options.connect.count()));
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall.count()));
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(c, CURLOPT_READFUNCTION, give_body);
  curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, rewind_body);
  curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, check_stop);
  curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
  set_body(c, request);
  if (!sigv4.empty()) sign();
}

void HttpClient::Handle::sign() const {
  curl_easy_setopt(curl.get(), CURLOPT_AWS_SIGV4, sigv4.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_USERNAME, credentials.access_key.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PASSWORD, credentials.secret_key.c_str());
}

std::string HttpAnswer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

HttpClient::HttpClient(HttpOptions options)
    : options_(std::move(options)), handle_(std::make_unique<Handle>()) {
  if (!handle_->curl) throw Error("libcurl can't be started");
}

HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;

void HttpClient::sign_with(const Credentials& credentials, const std::string& region) {
  handle_->credentials = credentials;
  handle_->sigv4 = fmt::format("aws:amz:{}:s3", region);
}

HttpAnswer HttpClient::attempt(const HttpRequest& request) {
  CURL* const curl = handle_->curl.get();
  Transfer transfer{request, options_.stop, curl};
  std::array<char, CURL_ERROR_SIZE> reason = {};
  handle_->prepare(request, options_);
  const Handle::Headers headers = handle_->headers(request);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason.data());
  for (const CURLoption option : {CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_READDATA,
                                  CURLOPT_SEEKDATA, CURLOPT_XFERINFODATA})
    curl_easy_setopt(curl, option, &transfer);
  const CURLcode code = curl_easy_perform(curl);
  if (transfer.failure) std::rethrow_exception(transfer.failure);
  if (options_.stop.stop_requested()) throw_stopped();
  if (transfer.too_long)
    throw TransportError(fmt::format("{}: the answer has more than {} bytes",
                                     host_text(request.url), request.max_answer),
                         false);
  if (code != CURLE_OK)
    throw TransportError(fmt::format("{}: {}", host_text(request.url),
                                     reason[0] != '\0' ? reason.data() : curl_easy_strerror(code)),
                         may_pass(code));
  transfer.answer.status = transfer.status();
  return std::move(transfer.answer);
}

HttpAnswer HttpClient::send(const HttpRequest& request) {
  Backoff backoff(options_.retries);
  while (true) {
    HttpAnswer answer;
    std::string fault;
    try {
      answer = attempt(request);
      if (!worth_repeating(answer.status)) return answer;
    } catch (const TransportError& error) {
      fault = error.what();
      if (!error.may_pass()) throw StoreError(StoreError::Kind::unreachable, fault);
    }
    if (pause(backoff, answer)) continue;
    if (fault.empty()) return answer;
    throw StoreError(StoreError::Kind::unreachable, fault);
  }
}

bool HttpClient::pause(Backoff& backoff, const HttpAnswer& answer) const {
  constexpr int kLongest = 60;  // seconds that a server may ask for
  const int asked = std::atoi(answer.header("retry-after").c_str());
  const auto time = backoff.next(std::chrono::seconds(std::clamp(asked, 0, kLongest)));
  if (!time) return false;
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  never.wait_for(lock, options_.stop, *time, [] { return false; });
  if (options_.stop.stop_requested()) throw_stopped();
  return true;
}

bool is_on_this_machine(const std::string& url) {
  const std::string host = host_text(url);
  const std::size_t begin = host.find("://") + 3;
  const std::string_view name = std::string_view(host).substr(begin, host.rfind(':') - begin);
  return name == "localhost" || name == "127.0.0.1" || name == "[::1]";
}

std::string host_text(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  return url.substr(0, url.find_first_of("/?#", begin));
}

}  // namespace penstock::runtime
