#include "runtime/data/index/index_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>

#include "runtime/data/index/index_layout.h"
#include "runtime/data/index/stream_hash.h"

namespace penstock::runtime {
namespace {

/// The file consists of such entries, 40 bytes each, in the machine's byte order:
///
///   hash of the path | size | time of change | packed length | check       8 bytes each
///
/// Each entry has a check of its own. A run that was killed, or a disk that was full, can leave a
/// part of an entry, and two runs may append at once.
struct Entry {
  KnownLength known;
  std::uint64_t check = 0;

  std::uint64_t expected() const {
    return hash_of({reinterpret_cast<const char*>(&known), sizeof known}) ^ kVersion;
  }
  static constexpr std::uint64_t kVersion = 1;
};

}  // namespace

void KnownLengths::sort() {
  std::ranges::sort(all_, {}, [](const KnownLength& known) {
    return std::pair(known.path_hash, known.stamp.changed);
  });
}

// Entries of one hash lie in the order of their times, so the one before the upper bound is the
// latest.
const KnownLength* KnownLengths::find(std::uint64_t path_hash) const {
  const auto end = std::ranges::upper_bound(all_, path_hash, {}, &KnownLength::path_hash);
  return end != all_.begin() && std::prev(end)->path_hash == path_hash ? &*std::prev(end) : nullptr;
}

IndexJournal::IndexJournal(const std::filesystem::path& file)
    : file_(file, O_WRONLY | O_CREAT | O_APPEND, 0666) {
  (void)::flock(file_.descriptor(), LOCK_SH | LOCK_NB);  // a shared lock, as in open_in_use()
  // A truncated entry is cut off: entries after it would be misaligned and so not be found.
  const off_t end = ::lseek(file_.descriptor(), 0, SEEK_END);
  if (end < 0 || ::ftruncate(file_.descriptor(), end - end % off_t{sizeof(Entry)}) != 0)
    raise_errno(file, "can't be cut");
}

void IndexJournal::append(const std::vector<KnownLength>& found) {
  std::vector<Entry> entries;
  for (const KnownLength& known : found) {
    Entry& entry = entries.emplace_back(Entry{known});
    entry.check = entry.expected();
  }
  std::span<const std::byte> bytes = std::as_bytes(std::span(entries));
  file_.write(bytes);
}

void read_journal(const std::filesystem::path& file, KnownLengths& known) {
  std::ifstream in(file, std::ios::binary);
  Entry entry;
  while (in.read(reinterpret_cast<char*>(&entry), sizeof entry))
    if (entry.check == entry.expected() && is_likely(entry.known.length)) known.add(entry.known);
}

}  // namespace penstock::runtime
