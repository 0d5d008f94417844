#include "comm/agree.h"

#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/file_handle.h"
#include "comm/collectives.h"

namespace penstock::comm {
namespace {

std::string bytes_of(const Failure& failure) {
  Packer message;
  pack(failure, message);
  return message.bytes();
}

Failure parsed(const std::string& bytes) {
  Unpacker message(bytes);
  return unpack_failure(message);
}

}  // namespace

bool Failure::missing() const { return kind == Kind::file && code == ENOENT; }

bool Failure::disk_full() const { return kind == Kind::file && (code == ENOSPC || code == EDQUOT); }

// These types decide the process's exit code (docs/errors.md). Anything else is a fault of this
// rank, which ends the job.
Failure failure_in(const std::function<void()>& work) try {
  work();
  return {};
} catch (const ConfigError& error) {
  return {Failure::Kind::config, error.what()};
} catch (const DataError& error) {
  return {Failure::Kind::data, error.what()};
} catch (const CheckpointError& error) {
  return {Failure::Kind::checkpoint, error.what()};
} catch (const FileError& error) {
  return {Failure::Kind::file, error.what(), error.path(), error.code().value()};
}

void raise(const Failure& failure) {
  switch (failure.kind) {
    case Failure::Kind::config:
      throw ConfigError(failure.text);
    case Failure::Kind::data:
      throw DataError(failure.text);
    case Failure::Kind::file:
      throw FileError(failure.path, failure.text, static_cast<std::errc>(failure.code));
    default:
      throw CheckpointError(failure.text);
  }
}

void pack(const Failure& failure, Packer& message) {
  message.add(static_cast<std::int64_t>(failure.kind));
  message.add(failure.text);
  message.add(failure.path.string());
  message.add(std::int64_t{failure.code});
}

Failure unpack_failure(Unpacker& from) {
  Failure failure;
  failure.kind = static_cast<Failure::Kind>(from.number());
  failure.text = from.text();
  failure.path = from.text();
  failure.code = static_cast<int>(from.number());
  return failure;
}

std::vector<Failure> gather(Communicator& world, const Failure& own) {
  std::vector<Failure> failures;
  for (const std::string& bytes : gather(world, std::string_view(bytes_of(own))))
    failures.push_back(parsed(bytes));
  return failures;
}

// Ranks that branch on what they see themselves, such as a file, could take different ways and wait
// for each other for ever.
bool answer_from_rank_0(Communicator& world, bool answer) {
  std::byte byte{answer};
  broadcast(world, {&byte, 1});
  return byte != std::byte{0};
}

// A rank alone needs no message, and keeps the error's own type and origin.
void run_on_rank_0(Communicator& world, const std::function<void()>& work) {
  if (world.size() == 1) return work();
  const Failure own = world.rank() == 0 ? failure_in(work) : Failure();
  const Failure failure = parsed(broadcast(world, bytes_of(own)));
  if (failure) raise(failure);
}

}  // namespace penstock::comm
