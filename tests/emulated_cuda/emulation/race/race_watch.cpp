#include "tests/emulated_cuda/emulation/race/race_watch.h"

#include "tests/emulated_cuda/emulation/failure.h"
#include "tests/emulated_cuda/emulation/grid.h"
#include "tests/emulated_cuda/emulation/machine.h"
#include "tests/emulated_cuda/emulation/race/location.h"

namespace emulated_cuda {
namespace race {
namespace {

thread_local bool in_kernel_code = false;

const char* name_of(RaceWatch::Kind kind) {
  return kind == RaceWatch::Kind::read    ? "read"
         : kind == RaceWatch::Kind::write ? "write"
                                          : "atomic change";
}

std::string text_of(const Access& access) {
  if (access.block == 0) return "by a copy, a fill or a library";
  return "by thread " + std::to_string(access.thread) + " in " + location_of(access.code - 1);
}

std::string relation_of(const Access& earlier, const Access& now) {
  if (earlier.operation != now.operation) return " of another operation, for which no event waits";
  if (earlier.block != now.block) return " of another block";
  return " of the same block, with no barrier between";
}

}  // namespace

std::string RaceWatch::name_of(const void* code) {
  const std::string location = location_of(place_of(code));
  return location.substr(0, location.find(" at "));
}

void RaceWatch::memory_begins(const void* begin, std::size_t bytes, bool initialised) {
  shadow_.add(begin, bytes, initialised);
}

void RaceWatch::memory_ends(const void* begin) { shadow_.remove(begin); }

void RaceWatch::observe(bool kernel) { in_kernel_code = kernel; }

void RaceWatch::operation_begins(Timeline line, const Clock& clock) {
  operations_.push_back({line, clock.of(line)});
  clock_ = clock;
}

void RaceWatch::operation_reads(const void* begin, std::size_t bytes) {
  access(begin, bytes, Kind::read, now_in_operation());
}

void RaceWatch::operation_writes(const void* begin, std::size_t bytes) {
  access(begin, bytes, Kind::write, now_in_operation());
  shadow_.unite(reinterpret_cast<std::uintptr_t>(begin), bytes);
}

void RaceWatch::atomic(const void* place, std::size_t bytes, const void* code) {
  Access now = now_in_kernel(code);
  now.atomic = true;
  access(place, bytes, Kind::atomic, now);
}

void RaceWatch::kernel_access(const void* address, std::size_t bytes, Kind kind, const void* code) {
  if (running_block().threads.current()->fiber->holds(address)) return;
  if (kind == Kind::read && is_of_program(address)) return;
  access(address, bytes, kind, now_in_kernel(code));
}

void RaceWatch::access(const void* begin, std::size_t bytes, Kind kind, const Access& now) {
  const bool inside =
      shadow_.visit(reinterpret_cast<std::uintptr_t>(begin), bytes, [&](Cell& cell) {
        check_order(cell.write, "write", now, kind);
        if (kind != Kind::write && !cell.initialised)
          fail("a ", race::name_of(kind), " of what was never written, ", text_of(now));
        if (kind == Kind::read) return add_read(cell, now);
        for (const Access& read : cell.reads) check_order(read, "read", now, kind);
        cell = {now, {}, true};
      });
  if (!inside)
    fail("a ", race::name_of(kind), " of ", bytes, " bytes at ", begin, ", ",
         machine().memory.kind_of(begin), ", ", text_of(now));
}

void RaceWatch::check_order(const Access& earlier, const char* what, const Access& now,
                            Kind kind) const {
  if (!comes_before(earlier, now))
    fail("a race: a ", race::name_of(kind), " ", text_of(now), "\n  after a ", what, " ",
         text_of(earlier), relation_of(earlier, now));
}

bool RaceWatch::comes_before(const Access& earlier, const Access& now) const {
  if (earlier.operation == 0) return true;
  if (earlier.operation != now.operation) {
    const Operation& operation = operations_[earlier.operation];
    return clock_.of(operation.line) >= operation.count;
  }
  if (earlier.atomic && now.atomic) return true;
  if (earlier.block != now.block) return false;
  return earlier.thread == now.thread || earlier.syncs < now.syncs ||
         (earlier.thread / 32 == now.thread / 32 && earlier.warp_syncs < now.warp_syncs);
}

void RaceWatch::add_read(Cell& cell, const Access& now) const {
  Access* place = nullptr;
  for (Access& read : cell.reads)
    if (comes_before(read, now)) {
      read = {};
      place = &read;
    }
  if (place == nullptr)  // one of its own operation goes, so that other operations' stay
    for (Access& read : cell.reads)
      if (read.operation == now.operation) place = &read;
  if (place == nullptr) place = &cell.reads.back();
  *place = now;
}

Access RaceWatch::now_in_kernel(const void* code) const {
  const Thread& thread = *running_block().threads.current();
  Access now = now_in_operation();
  now.block = block_number();
  now.code = place_of(code);
  now.syncs = running_block().syncs();
  now.warp_syncs = thread.warp_syncs;
  now.thread = static_cast<std::uint16_t>(thread.place);
  return now;
}

Access RaceWatch::now_in_operation() const {
  Access now;
  now.operation = static_cast<std::uint32_t>(operations_.size() - 1);
  return now;
}

RaceWatch& race_watch() {
  static RaceWatch watch;
  return watch;
}

bool observing() { return in_kernel_code; }

}  // namespace race

Watch& watch() { return race::race_watch(); }

}  // namespace emulated_cuda
