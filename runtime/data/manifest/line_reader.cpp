#include "runtime/data/manifest/line_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "base/error.h"

// zlib recognises gzip by its first two bytes and passes other files as they are, so the name of a
// file does not matter. A few kilobytes of gzip may hold a line of gigabytes, so a compressed line
// has a limit.

namespace penstock::runtime {
namespace {

constexpr std::size_t kBlock = 256 << 10;
constexpr std::size_t kLongestCompressed = 64 << 20;

}  // namespace

class LineReader::Stream {
 public:
  explicit Stream(std::filesystem::path path)
      : path_(std::move(path)), file_(::gzopen(path_.c_str(), "rb")) {
    if (file_ == nullptr) throw DataError(path_.string() + ": cannot be read");
    (void)::gzbuffer(file_, kBlock);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { (void)::gzclose_r(file_); }

  /// Replaces the block by the next bytes; by none at the end.
  void read(std::string& block) {
    block.resize(kBlock);
    const int bytes = ::gzread(file_, block.data(), static_cast<unsigned>(kBlock));
    int code = Z_OK;
    (void)::gzerror(file_, &code);
    if (code == Z_BUF_ERROR)
      throw DataError(
          fmt::format("{}: is cut: its gzip data end too early. Copy it again", path_.string()));
    if (code == Z_DATA_ERROR)
      throw DataError(fmt::format("{}: is damaged, after {} bytes of its text. Copy it again",
                                  path_.string(), ::gztell(file_)));
    if (bytes < 0) throw DataError(path_.string() + ": cannot be read to its end");
    block.resize(static_cast<std::size_t>(bytes));
  }

  void require_bounded(const std::string& line) const {
    if (line.size() > kLongestCompressed && ::gzdirect(file_) == 0)
      throw DataError(fmt::format("{}: has a line of more than {} MiB: is it a manifest?",
                                  path_.string(), kLongestCompressed >> 20));
  }

 private:
  std::filesystem::path path_;
  gzFile file_;
};

LineReader::LineReader(const std::filesystem::path& file)
    : stream_(std::make_unique<Stream>(file)) {}

LineReader::~LineReader() = default;

/// Reads on if the block is used up. Returns false at the end of the file.
bool LineReader::fill() {
  if (at_ < block_.size()) return true;
  at_ = 0;
  stream_->read(block_);
  return !block_.empty();
}

std::string_view LineReader::head() {
  (void)fill();
  return block_;
}

bool LineReader::next(std::string& line) {
  line.clear();
  if (!fill()) return false;
  while (fill()) {
    const std::size_t end = std::min(block_.find('\n', at_), block_.size());
    line.append(block_, at_, end - at_);
    at_ = end;
    if (at_ < block_.size()) {
      ++at_;
      return true;
    }
    stream_->require_bounded(line);
  }
  return true;
}

}  // namespace penstock::runtime
