#include "runtime/store/transfer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/file_handle.h"
#include "runtime/store/digest.h"
#include "runtime/store/store_error.h"

// A file of up to one part is one request. A larger one goes in parts of equal size, in order:
//
//   1. open_uploads()  finds what an upload that died has left; parts() lists what the store has
//   2. put_part()      for each part that is not there with the file's MD5
//   3. complete()      joins the parts: only now the object exists
//   4. head()          must have the file's size and, where the ETag tells, the parts' digest
//
// If the answer to 3 is lost, its repetition finds no upload, and 4 decides. Cost: every byte is
// read once, also of parts that are not sent. Parts are compared by MD5, so another file under the
// same key is never joined with this one.

namespace penstock::runtime {
namespace {

constexpr std::uint64_t kMaxParts = 10000;  // of S3

/// A file that is read in parts, of which one is in memory.
class PartedFile {
 public:
  PartedFile(const std::filesystem::path& file, std::size_t part_bytes)
      : handle_(file, O_RDONLY), bytes_(std::filesystem::file_size(file)) {
    constexpr std::uint64_t kMiB = 1 << 20;
    const std::uint64_t smallest = (bytes_ / kMaxParts + kMiB) / kMiB * kMiB;
    buffer_.resize(std::min<std::uint64_t>(std::max<std::uint64_t>(part_bytes, smallest), bytes_));
  }

  std::uint64_t bytes() const { return bytes_; }
  int parts() const {
    return buffer_.empty() ? 1 : static_cast<int>((bytes_ + buffer_.size() - 1) / buffer_.size());
  }

  /// Reads part `number`, from 1. The bytes are valid until the next call.
  std::span<const std::byte> read(int number) {
    const std::uint64_t begin = static_cast<std::uint64_t>(number - 1) * buffer_.size();
    const std::span<std::byte> part =
        std::span(buffer_).first(std::min<std::uint64_t>(buffer_.size(), bytes_ - begin));
    for (std::size_t done = 0; done < part.size();) {
      const ssize_t count = ::pread(handle_.descriptor(), part.data() + done, part.size() - done,
                                    static_cast<off_t>(begin + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) raise_errno(handle_.path(), "can't be read");
      if (count == 0)
        throw FileError(handle_.path(),
                        fmt::format("{}: shrank while it was uploaded", handle_.path().string()),
                        std::errc::io_error);
      done += static_cast<std::size_t>(count);
    }
    return part;
  }

 private:
  FileHandle handle_;
  std::uint64_t bytes_;
  std::vector<std::byte> buffer_;
};

/// Returns the ETag that S3 gives an object of these parts: the MD5 of their MD5s, and their
/// number.
std::string joined_etag(const std::string& digests, int parts) {
  return fmt::format("{}-{}", to_hex(md5(std::as_bytes(std::span(digests)))), parts);
}

/// Returns the parts of an upload of this key that died, or a new upload without parts.
OpenUpload resumed_upload(S3Store& store, const std::string& key) {
  for (const OpenUpload& open : store.open_uploads(key))
    if (open.key == key) return open;
  return store.begin_upload(key);
}

/// Sends the parts that the store does not have. Returns them all, and adds their MD5s to
/// `digests`.
std::vector<UploadedPart> send_parts(S3Store& store, const OpenUpload& upload, PartedFile& file,
                                     const UploadOptions& options, std::string& digests) {
  std::map<int, UploadedPart> there;
  for (const UploadedPart& part : store.parts(upload)) there[part.number] = part;
  std::vector<UploadedPart> parts;
  for (int number = 1; number <= file.parts(); ++number) {
    const std::span<const std::byte> bytes = file.read(number);
    const std::string digest = md5(bytes);
    digests += digest;
    const auto found = there.find(number);
    const bool same = found != there.end() && found->second.bytes == bytes.size() &&
                      found->second.etag == to_hex(digest);
    parts.push_back(same ? found->second : store.put_part(upload, number, bytes));
    if (options.progress) options.progress(bytes.size());
  }
  return parts;
}

/// Throws StoreError unless the object is there with that size and, if its ETag is one of parts,
/// with these digests.
void check_object(S3Store& store, const std::string& key, std::uint64_t bytes,
                  const std::string& etag) {
  const auto object = store.head(key);
  if (!object || object->bytes != bytes)
    throw StoreError(
        StoreError::Kind::refused,
        fmt::format("{}: was uploaded with {} bytes, but the store has {}", store.text(key), bytes,
                    object ? fmt::format("{} bytes", object->bytes) : "no such object"));
  if (object->etag_is_md5 && object->etag != etag)
    throw StoreError(
        StoreError::Kind::refused,
        fmt::format("{}: the store joined other bytes than were uploaded", store.text(key)));
}

void upload_parts(S3Store& store, const std::string& key, PartedFile& file,
                  const UploadOptions& options) {
  const OpenUpload upload = resumed_upload(store, key);
  std::string digests;
  const std::vector<UploadedPart> parts = send_parts(store, upload, file, options, digests);
  try {
    store.complete(upload, parts);
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::missing) throw;  // else it was completed, or is gone
  }
  check_object(store, key, file.bytes(), joined_etag(digests, file.parts()));
}

}  // namespace

void upload_file(S3Store& store, const std::string& key, const std::filesystem::path& path,
                 const UploadOptions& options) {
  PartedFile file(path, options.part_bytes);
  if (file.parts() > 1) return upload_parts(store, key, file, options);
  store.put(key, file.read(1));
  if (options.progress) options.progress(file.bytes());
}

namespace {

/// The range is complete, although more of the object could come.
struct Complete {};

/// A file that a range of an object is written to, in order. So its size tells what is there.
class Arrival {
 public:
  Arrival(const std::filesystem::path& file, const RangeDownload& download)
      : file_(file, O_WRONLY | O_CREAT | (download.resume ? O_APPEND : O_TRUNC)),
        download_(download),
        range_(download.range) {
    if (download.resume) bytes_ = std::filesystem::file_size(file);
    if (bytes_ > range_.size()) begin_anew();
  }

  std::uint64_t bytes() const { return bytes_; }
  ByteRange rest() const { return {range_.begin + bytes_, range_.end}; }

  /// Writes a piece of an answer. An answer that is no range, status 206, begins the object anew.
  void take(int status, std::span<const std::byte> piece, bool first) {
    constexpr int kRange = 206;
    if (first) skipped_ = 0;
    if (first && status != kRange && bytes_ > 0) begin_anew();
    if (status != kRange && skipped_ < range_.begin) {
      const auto skip = std::min<std::uint64_t>(piece.size(), range_.begin - skipped_);
      skipped_ += skip;
      piece = piece.subspan(skip);
    }
    const bool more = piece.size() > range_.size() - bytes_;
    if (more && (status == kRange || range_.end == download_.bytes))
      throw StoreError(StoreError::Kind::refused, fmt::format("{}: has more than its {} bytes",
                                                              download_.name, download_.bytes));
    piece = piece.first(std::min<std::uint64_t>(piece.size(), range_.size() - bytes_));
    bytes_ += piece.size();
    file_.write(piece);
    if (more) throw Complete();
  }

 private:
  void begin_anew() {
    if (::ftruncate(file_.descriptor(), 0) != 0 || ::lseek(file_.descriptor(), 0, SEEK_SET) != 0)
      raise_errno(file_.path(), "can't be written");
    bytes_ = 0;
  }

  FileHandle file_;
  const RangeDownload& download_;
  ByteRange range_;
  std::uint64_t bytes_ = 0, skipped_ = 0;
};

}  // namespace

// Each request asks for the bytes that are missing. A server that does not know ranges sends all.
// The time for repetitions begins anew whenever bytes have come.
void download_range(const RangeDownload& download, const HttpClient& client,
                    const std::filesystem::path& path) {
  Arrival file(path, download);
  Backoff backoff(client.options().retries);
  while (file.bytes() < download.range.size()) {
    HttpAnswer answer;
    std::string fault;
    const std::uint64_t before = file.bytes();
    bool first = true;
    try {
      answer = download.read(file.rest(), [&](int status, std::span<const std::byte> piece) {
        file.take(status, piece, std::exchange(first, false));
      });
      if (answer.good() && file.bytes() == download.range.size()) return;
      fault = fmt::format("{} of {} bytes came, status {}", file.bytes(), download.range.size(),
                          answer.status);
    } catch (const Complete&) {
      return;
    } catch (const TransportError& error) {
      fault = error.what();
      if (!error.may_pass()) throw StoreError(StoreError::Kind::unreachable, fault);
    }
    if (file.bytes() > before) backoff = Backoff(client.options().retries);
    if (!client.pause(backoff, answer))
      throw StoreError(StoreError::Kind::unreachable,
                       fmt::format("{} can't be read: {}", download.name, fault));
  }
}

// If-Match makes a store refuse the rest of another object.
void download_file(S3Store& store, const StoredObject& object, const std::filesystem::path& path) {
  download_range({.name = store.text(object.key),
                  .bytes = object.bytes,
                  .range = {0, object.bytes},
                  .read = [&](const ByteRange& rest,
                              const ByteSink& sink) { return store.read(object, rest, sink); }},
                 store.client(), path);
}

}  // namespace penstock::runtime
