#include "runtime/corpus/shared_index.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/mapped_file.h"
#include "runtime/data/remote/remote_files.h"
#include "runtime/job/consistency.h"
#include "runtime/job/packing.h"
#include "runtime/store/store_error.h"

// One rank has the manifest and others have the audio, so finding an index is a conversation. The
// first reader of texts runs find_index(). Whenever that must measure recordings, it broadcasts the
// queries, the readers of audio answer a share each, and the answers are gathered on all ranks. The
// other ranks loop in answer() until an empty message tells them that the index is found or that
// finding it failed. Every exchange is a collective, so no rank can miss one.
//
// Then the index is distributed. The builder tells the file's path and the hash of its contents. A
// rank that can open that path, and finds that hash, maps it: on one machine or a shared disk
// nothing is sent. Ranks that can't are counted, and if there are any, the bytes are broadcast to
// all in pieces, of which only those ranks keep a copy.

namespace penstock::runtime {
namespace {

void pack(const FileStamp& stamp, Packer& message) {
  message.add(stamp.bytes);
  message.add(stamp.changed);
}

FileStamp unpack_stamp(Unpacker& message) {
  FileStamp stamp;
  stamp.bytes = message.number();
  stamp.changed = message.number();
  return stamp;
}

void pack(const PackedLength& length, Packer& message) {
  const AudioLength unpacked = length.unpacked();
  message.add(unpacked.samples);
  message.add(std::int64_t{unpacked.rate});
}

PackedLength unpack_length(Unpacker& message) {
  AudioLength length;
  length.samples = message.number();
  length.rate = static_cast<int>(message.number());
  return PackedLength(length);
}

/// Exchanges queries and answers about recordings between the rank that builds an index and the
/// readers of audio. Every message is a collective of all ranks: the builder broadcasts queries,
/// the readers' answers are gathered on all ranks, and an empty broadcast ends the exchange.
class SharedMeasurement {
 public:
  SharedMeasurement(RecordingMeasure options, comm::Communicator& world,
                    const CorpusReaders& readers)
      : options_(std::move(options)), world_(world), readers_(readers) {}

  /// Sends queries and returns the answers. Called by the first reader of texts. Throws DataError
  /// if a server or a cache failed on any rank.
  RecordingAnswers ask(std::span<const RecordingQuery> queries) {
    Packer message;
    for (const RecordingQuery& query : queries) {
      message.add(query.path);
      pack(query.stamp, message);
      pack(query.length, message);
    }
    RecordingAnswers answers = exchange(comm::broadcast(world_, message.bytes(), asking()));
    if (!failure_.empty()) throw DataError(failure_);
    return answers;
  }

  void end() { (void)comm::broadcast(world_, std::string(), asking()); }

  /// Answers queries until the end. Called by all other ranks.
  void answer() {
    for (;;) {
      std::string queries = comm::broadcast(world_, std::string(), asking());
      if (queries.empty()) return;
      (void)exchange(std::move(queries));
    }
  }

 private:
  int asking() const { return readers_.texts.front(); }

  /// Computes and gathers answers. Reader r of n answers every n-th query, beginning with the r-th.
  RecordingAnswers exchange(std::string message) {
    const auto self = std::ranges::find(readers_.audio, world_.rank());
    const std::size_t n = readers_.audio.size();
    const auto here = static_cast<std::size_t>(self - readers_.audio.begin());
    std::vector<RecordingQuery> own;
    std::size_t count = 0;
    for (Unpacker from(std::move(message)); !from.empty(); ++count) {
      RecordingQuery query;
      query.path = from.text();
      query.stamp = unpack_stamp(from);
      query.length = unpack_length(from);
      if (count % n == here) own.push_back(std::move(query));
    }
    Unpacker all(gather_to_all(world_, answered(own, here)));
    RecordingAnswers answers(count);
    while (!all.empty()) {
      const std::int64_t place = all.number();
      if (place == kFailed) {
        failure_ = all.text();
        continue;
      }
      RecordingAnswer& answer = answers.at(static_cast<std::size_t>(place)).emplace();
      answer.stamp = unpack_stamp(all);
      answer.length = unpack_length(all);
      answer.fault = all.text();
    }
    return answers;
  }

  Packer answered(const std::vector<RecordingQuery>& own, std::size_t here) const {
    RecordingAnswers answers;
    Packer message;
    try {
      answers = measure_recordings(own, options_);
    } catch (const Error& error) {
      message.add(kFailed);
      message.add(std::string(error.what()));
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i]) continue;
      message.add(static_cast<std::int64_t>(here + i * readers_.audio.size()));
      pack(answers[i]->stamp, message);
      pack(answers[i]->length, message);
      message.add(answers[i]->fault);
    }
    return message;
  }

  static constexpr std::int64_t kFailed = -1;  // in place of a recording's number

  RecordingMeasure options_;
  std::string failure_ = {};  // of a server or a cache
  comm::Communicator& world_;
  const CorpusReaders& readers_;
};

/// Opens a manifest that lies on a server. Stores an error in `fault`.
std::optional<LocalFile> open_or_fault(const CorpusOptions& options, std::string& fault) try {
  if (!options.files) return std::nullopt;
  return options.files->open_manifest(options.manifest.string());
} catch (const Error& error) {
  fault = error.what();
  return std::nullopt;
}

/// Finds the index, on the rank that does so. Stores an error in `fault`.
std::optional<FoundIndex> find_or_fault(const CorpusOptions& options, SharedMeasurement& measuring,
                                        std::string& fault) {
  std::optional<FoundIndex> found;
  try {
    found =
        find_index({.manifest = options.manifest,
                    .cache = options.cache,
                    .threads = options.threads,
                    .use = options.texts ? IndexUse::ready : IndexUse::checked,
                    .warns_unkept = options.warns_unkept,
                    .files = options.files.get(),
                    .texts = options.texts},
                   [&](std::span<const RecordingQuery> queries) { return measuring.ask(queries); });
  } catch (const DataError& error) {
    fault = error.what();
  } catch (const FileError& error) {
    fault = error.what();
  } catch (const StoreError& error) {
    fault = error.what();
  }
  measuring.end();
  return found;
}

/// Returns the folder from which the manifest's paths start. This rank may not have the manifest.
std::filesystem::path shared_folder(const CorpusOptions& options, comm::Communicator& world,
                                    int first) {
  const bool whole = folder_of(options.manifest) == options.manifest;
  const bool is_folder = !comm::broadcast(world, std::string(whole ? "folder" : ""), first).empty();
  return is_folder ? options.manifest : options.manifest.parent_path();
}

/// Sends an index to the ranks that have none, in pieces. All ranks call this together. An empty
/// piece ends the transfer. Pieces bound the memory, since an index may be larger than that.
void send(comm::Communicator& world, int from, std::optional<FoundIndex>& found) {
  constexpr std::size_t kPiece = 64 << 20;
  const std::string_view whole = world.rank() == from ? found->index.bytes() : std::string_view();
  std::optional<ScratchFile> received;
  if (!found) received.emplace();
  for (std::size_t at = 0;; at += kPiece) {
    const std::string piece = comm::broadcast(
        world, std::string(at < whole.size() ? whole.substr(at, kPiece) : std::string_view()),
        from);
    if (piece.empty()) break;
    if (received) received->write(piece);
  }
  if (received) found = FoundIndex{UtteranceIndex::of(received->map()).value(), {}};
}

}  // namespace

SharedIndex share_index(const CorpusOptions& options, comm::Communicator& world,
                        const CorpusReaders& readers) {
  const int first = readers.texts.front();
  std::string fault;
  const std::optional<LocalFile> kept =  // in the cache meanwhile
      world.rank() == first ? open_or_fault(options, fault) : std::nullopt;
  throw_together(world, fault);
  const auto folder = shared_folder(options, world, first);
  SharedMeasurement measuring({folder, options.threads, false, options.files.get()}, world,
                              readers);
  std::optional<FoundIndex> found;
  if (world.rank() == first)
    found = find_or_fault(options, measuring, fault);
  else
    measuring.answer();
  throw_together(world, fault);

  Packer where;
  if (found) {
    where.add(found->file.native());
    where.add(static_cast<std::int64_t>(found->index.id()));
  }
  Unpacker told(comm::broadcast(world, where.bytes(), first));
  const std::filesystem::path file = told.text();
  const auto id = static_cast<std::uint64_t>(told.number());
  if (!found && !file.empty())
    if (auto index = UtteranceIndex::open(file); index && index->id() == id)
      found = FoundIndex{std::move(*index), file};
  Packer lacking;
  if (!found) lacking.add(std::int64_t{world.rank()});
  if (!gather_to_all(world, lacking).empty()) send(world, first, found);
  return {std::move(found->index), folder};
}

}  // namespace penstock::runtime
