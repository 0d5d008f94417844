#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "runtime/store/s3_store.h"

namespace penstock::runtime {

struct UploadOptions {
  std::size_t part_bytes = 8 << 20;  // S3 wants at least 5 MiB; larger files have larger parts
  /// Called with the bytes of each part that the store has now, sent or found there.
  std::function<void(std::uint64_t)> progress = {};
};

/// Uploads a file as an object, of which it keeps one part in memory. Parts that an earlier upload
/// of this key has left are compared with the file and not sent again if they are the same. Throws
/// StoreError, and FileError if the file can't be read or shrinks.
void upload_file(S3Store& store, const std::string& key, const std::filesystem::path& file,
                 const UploadOptions& options = {});

/// A range of an object's bytes on any server.
struct RangeDownload {
  std::string name;         // of the object, for messages
  std::uint64_t bytes = 0;  // of the whole object
  ByteRange range;
  /// Sends one request for a range, as S3Store::read() does. The server may send the whole object.
  std::function<HttpAnswer(const ByteRange& rest, const ByteSink& sink)> read;
  bool resume = false;  // the file's bytes are the range's first ones
};

/// Downloads a range of an object to a file. After an interruption it goes on where it was. Throws
/// StoreError and FileError, and what `read` throws.
void download_range(const RangeDownload& download, const HttpClient& client,
                    const std::filesystem::path& file);

/// Downloads an object to a new file. After an interruption it goes on where it was. Throws
/// StoreError, also if the object has another size than `object` says, and FileError.
void download_file(S3Store& store, const StoredObject& object, const std::filesystem::path& file);

}  // namespace penstock::runtime
