#include "tests/emulated_cuda/emulation/warp.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "tests/emulated_cuda/emulation/failure.h"

namespace emulated_cuda {

Warp::Warp(Threads& threads, int first) : threads_(threads), first_(first) {
  const int lanes = std::min(32, static_cast<int>(threads.all().size()) - first);
  exist_ = lanes == 32 ? ~0u : (1u << lanes) - 1;
}

const WarpValues& Warp::meet(const WarpCall& call, const WarpValue& value) {
  const Thread& self = *threads_.current();
  const unsigned lane_bit = 1u << self.lane();
  if ((call.mask & lane_bit) == 0)
    fail(call.name, " (line ", call.line, "): lane ", self.lane(), " is not in its own mask 0x",
         std::hex, call.mask);
  Meeting& meeting = this->meeting(call.mask);
  const bool same_name =
      meeting.call.name == call.name || std::string_view(meeting.call.name) == call.name;
  if (meeting.arrived != 0 && !(same_name && meeting.call.line == call.line))
    fail("lanes of a warp meet in different calls: ", meeting.call.name, " (line ",
         meeting.call.line, ") and ", call.name, " (line ", call.line, ")");
  meeting.call = call;
  meeting.arrived |= lane_bit;
  meeting.gathering.values[static_cast<std::size_t>(self.lane())] = value;
  if (meeting.arrived == expected(meeting)) {
    release(meeting);
    threads_.give_way();
  } else {
    threads_.wait(call.name, call.line);
  }
  return meeting.gathered;
}

void Warp::ended(const Thread& thread) {
  ended_ |= 1u << thread.lane();
  for (Meeting& meeting : meetings_)
    if (meeting.arrived != 0 && meeting.arrived == expected(meeting)) release(meeting);
}

Warp::Meeting& Warp::meeting(unsigned mask) {
  for (Meeting& meeting : meetings_)
    if (meeting.call.mask == mask) return meeting;
  return meetings_.emplace_back(Meeting{{"", mask, 0}, 0, {}, {}});
}

void Warp::release(Meeting& meeting) {
  meeting.gathered = meeting.gathering;
  meeting.gathered.present = meeting.arrived;
  meeting.arrived = 0;
  for (unsigned lanes = meeting.gathered.present; lanes != 0; lanes &= lanes - 1) {
    Thread& thread = threads_.all()[static_cast<std::size_t>(first_ + std::countr_zero(lanes))];
    if (&thread != threads_.current()) threads_.wake(thread);
  }
}

}  // namespace emulated_cuda
