#include "runtime/data/remote/remote_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "runtime/store/http_client.h"
#include "runtime/store/store_url.h"

// A URL and its place in the mirror differ in "://" alone, so the one follows from the other and
// nothing need be kept. A query stays at the end of the file's name, with its slashes escaped. Keys
// of a store are unescaped names, and paths of https:// are escaped ones: both stay as they are.

namespace penstock::runtime {
namespace {

constexpr std::array<std::string_view, 4> kSchemes = {"s3", "gs", "https", "http"};
constexpr std::string_view kColon = "://";

bool is_object(std::string_view scheme) { return scheme == "s3" || scheme == "gs"; }

[[noreturn]] void refuse(std::string_view url, std::string_view why) {
  throw ConfigError(fmt::format("{}: {}", without_query(url), why));
}

/// Throws ConfigError unless each part of the path can name a folder or a file.
void check_parts(std::string_view url, std::string_view path) {
  constexpr std::size_t kLongest = 255;  // bytes of a file's name
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..")
      refuse(url, fmt::format("its path has the part '{}', which no file can be named", part));
    if (part.size() > kLongest)
      refuse(url, fmt::format("a part of its path has {} bytes, but a file's name may have {}",
                              part.size(), kLongest));
    begin = end + 1;
  }
}

void check_server(std::string_view url, std::string_view scheme, std::string_view host) {
  if (is_object(scheme)) return (void)parse_store_url(url);
  if (host.empty()) refuse(url, "it names no server");
  if (host.find('@') != std::string_view::npos)
    refuse(url, "it has a user or a password, which penstock does not send: use a signed URL");
  if (scheme == "http" && !is_on_this_machine(std::string(url)))
    refuse(url, "anyone between could change what http:// brings: use https://");
}

/// Escapes the slashes of a query and drops a fragment. Names in a store have neither.
std::string without_slashes_in_query(std::string_view path) {
  path = path.substr(0, path.find('#'));
  const std::size_t query = std::min(path.find('?'), path.size());
  std::string out(path.substr(0, query));
  for (const char c : path.substr(query)) out += c == '/' ? "%2F" : std::string(1, c);
  return out;
}

/// Escapes what a path of https:// can't have. What is escaped already stays.
std::string escaped_path(std::string_view path) {
  std::string out;
  for (const unsigned char c : path) {
    const bool bad =
        c <= ' ' || c >= 0x7f ||
        std::string_view("\"<>\\^`{|}").find(static_cast<char>(c)) != std::string_view::npos;
    out += bad ? fmt::format("%{:02X}", c) : std::string(1, static_cast<char>(c));
  }
  return out;
}

}  // namespace

bool is_remote_url(std::string_view text) {
  const std::string_view scheme = text.substr(0, text.find(kColon));
  return scheme.size() < text.size() && std::ranges::find(kSchemes, scheme) != kSchemes.end();
}

std::string without_query(std::string_view url) {
  return std::string(url.substr(0, url.find('?')));
}

std::string_view url_within(std::string_view path) {
  const std::size_t colon = path.find(kColon);
  if (colon == std::string_view::npos) return {};
  const std::string_view url = path.substr(path.substr(0, colon).rfind('/') + 1);
  return is_remote_url(url) ? url : std::string_view();
}

std::filesystem::path mirrored_path(std::string_view url) {
  if (!is_remote_url(url)) refuse(url, "is no URL of s3://, gs:// or https://");
  const std::size_t colon = url.find(kColon);
  const std::string_view scheme = url.substr(0, colon);
  const std::string_view rest = url.substr(colon + kColon.size());
  const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  check_server(url, scheme, host);
  std::string path = is_object(scheme) ? std::string(rest) : without_slashes_in_query(rest);
  while (path.ends_with('/')) path.pop_back();
  check_parts(url, path);
  return std::filesystem::path(scheme) / path;
}

std::string mirrored_url(const std::filesystem::path& place) {
  const std::string& text = place.native();
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view scheme = std::string_view(text).substr(0, slash);
  const std::string_view path = std::string_view(text).substr(std::min(slash + 1, text.size()));
  return fmt::format("{}{}{}", scheme, kColon,
                     is_object(scheme) ? std::string(path) : escaped_path(path));
}

std::string with_urls(std::string text, const std::filesystem::path& mirror) {
  for (const std::string_view scheme : kSchemes) {
    const std::string prefix = (mirror / scheme / "").string();
    const std::string url = fmt::format("{}{}", scheme, kColon);
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
      text.replace(at, prefix.size(), url);
      std::size_t end = std::min(text.find_first_of(" \n,;'\")", at), text.size());
      if (text[end - 1] == ':') --end;
      const std::size_t query = std::min(text.find('?', at), end);
      if (!is_object(scheme)) text.erase(query, end - query);
    }
  }
  return text;
}

}  // namespace penstock::runtime
