#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/index/file_stamp.h"
#include "runtime/store/s3_store.h"

namespace penstock::runtime {

/// An object as its server describes it.
struct RemoteObject {
  std::uint64_t bytes = 0;
  std::string etag = {};      // without quotes; "" if the server tells none
  std::string modified = {};  // Last-Modified
  bool etag_is_md5 = false;
  bool ranges = true;  // parts of it can be asked for
};

/// Returns the stamp that a file with these bytes gets. Its time says nothing but which object it
/// is: 30 bits of the hash of the ETag or, without one, of the time of change. Whole seconds before
/// 2001 pass every file system, and no index takes such a file for one that has just changed.
[[nodiscard]] FileStamp stamp_of(const RemoteObject& object);

/// An object in a list, with its name below the list's URL.
struct ListedRemote {
  std::string name;
  RemoteObject object;
};

/// Connections to object stores and web servers. Keys go to object stores alone; certificates are
/// verified, and redirections followed, for https:// alone. One thread uses it at a time. All
/// methods throw StoreError, which names the URL.
class ObjectServers {
 public:
  explicit ObjectServers(HttpOptions options) : options_(std::move(options)), web_(options_) {}

  /// Returns nothing if there is no such object.
  [[nodiscard]] std::optional<RemoteObject> describe(const std::string& url);

  /// Returns an object of at most `max_bytes`, or nothing if there is none.
  [[nodiscard]] std::optional<std::string> read(const std::string& url, std::size_t max_bytes);

  /// Returns the bucket of an s3:// or gs:// URL. It lives as long as this object.
  [[nodiscard]] S3Store& store(const std::string& url);

  /// Lists the objects of s3:// and gs:// below a URL.
  [[nodiscard]] std::vector<ListedRemote> list(const std::string& url);

  /// Downloads a range of an object to a file, whose bytes are the first ones if `resume` is set.
  /// StoreError of kind `changed` if it is another object by now.
  void download(const std::string& url, const RemoteObject& object, const ByteRange& range,
                const std::filesystem::path& file, bool resume);

 private:
  std::optional<RemoteObject> describe_page(const std::string& url);
  HttpAnswer read_page(const std::string& url, const RemoteObject& object, const ByteRange& range,
                       const ByteSink& sink);

  HttpOptions options_;
  HttpClient web_;
  std::map<std::string, S3Store> stores_;  // by "s3://bucket"
};

}  // namespace penstock::runtime
